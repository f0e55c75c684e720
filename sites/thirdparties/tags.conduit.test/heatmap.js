{{code 44000}}
(function () {
  var seen = [];
  addEventListener('scroll', function () { seen.push(scrollY); }, { passive: true });
  requestAnimationFrame(function () {
    fetch('https://px.trackalot.test/events?session=' + crypto.randomUUID(), { method: 'POST', body: JSON.stringify({ nodes: document.getElementsByTagName('*').length }) });
  });
})();
