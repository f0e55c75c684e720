/* The weather in the head of the page: a script that loads another. */
{{code 9000}}
(function () {
  var next = document.createElement('script');
  next.src = 'https://static.news.test/js/weather-map.js';
  document.head.appendChild(next);
})();
