{{code 58000}}
(function () {
  var base = 'https://stats.conduit.test/collect?v=2&cid=' + layer[0].visitor + '.' + layer[0].begun;
  navigator.sendBeacon(base + '&en=page_view&_s=1');
  addEventListener('load', function () {
    navigator.sendBeacon(base + '&en=timing&_s=2&ms=' + (Date.now() - layer[0].begun));
  });
  if (document.readyState === 'complete') navigator.sendBeacon(base + '&en=late&_s=2');
})();
