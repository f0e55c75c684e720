/* Second link: a script that loads a description. */
{{code 140000}}
fetch('https://api.chain.test/config.json')
  .then(function (answer) { return answer.json(); })
  .then(function (config) {
    window.config = config;
    var script = document.createElement('script');
    script.src = config.widget;
    document.head.appendChild(script);
  });
