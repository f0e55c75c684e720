/* Counts frames, and says when the advertisement was seen for half a second. */
{{code 56000}}
(function () {
  var id = Math.random().toString(16).slice(2), frames = 0, begun = performance.now();
  function say(event) { new Image().src = 'https://verify.eyeball.test/event?e=' + event + '&id=' + id + '&t=' + Date.now(); }
  say('loaded');
  (function count() {
    frames++;
    if (performance.now() - begun < 500) requestAnimationFrame(count);
    else say('seen');
  })();
  var ticks = 0, timer = setInterval(function () {
    if (++ticks === 3) clearInterval(timer);
    say('tick' + ticks);
  }, 600);
})();
