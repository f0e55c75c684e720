/* First link: a script that loads a script. */
{{code 5000}}
(function () {
  var script = document.createElement('script');
  script.src = 'https://cdn.chain.test/app/latest.js';
  document.head.appendChild(script);
})();
