{{code 21000}}
(function () {
  var icon = new Image();
  icon.src = 'https://static.news.test/weather.svg';
  icon.width = 32;
  (document.querySelector('.masthead') || document.head).appendChild(icon);
})();
