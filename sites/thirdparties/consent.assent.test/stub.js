{{code 6000}}
(function () {
  var script = document.createElement('script');
  script.src = 'https://consent.assent.test/banner.js';
  document.head.appendChild(script);
})();
