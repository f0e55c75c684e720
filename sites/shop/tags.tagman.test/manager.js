/* A tag manager: knows which other scripts the page wants. */
{{code 95000}}
(function () {
  var visitor = Math.random().toString(36).slice(2);
  function tag(address) {
    var script = document.createElement('script');
    script.async = true;
    script.src = address;
    document.head.appendChild(script);
  }
  tag('https://reviews.starcount.test/widget.js');
  tag('https://tags.tagman.test/heat.js');
  new Image().src = 'https://tags.tagman.test/collect?v=' + visitor + '&page=lamps&t=' + Date.now();
  window.addEventListener('load', function () {
    navigator.sendBeacon('https://tags.tagman.test/collect?v=' + visitor + '&event=load', '{"ok":true}');
  });
})();
