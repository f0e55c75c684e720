/* The tag manager: loads the tags of this site. */
{{code 110000}}
(function () {
  function tag(address) {
    var script = document.createElement('script');
    script.async = true;
    script.src = address;
    document.head.appendChild(script);
  }
  tag('https://stats.conduit.test/analytics.js');
  tag('https://px.trackalot.test/pixel.js');
  tag('https://chat.helpline.test/launcher.js');
  tag('https://tags.conduit.test/remarketing.js');
  setTimeout(function () { tag('https://tags.conduit.test/heatmap.js'); }, 300);
})();
