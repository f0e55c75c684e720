/* Counts a visit. */
{{code 52000}}
(function () {
  var id = (window.ledger && ledger.session) || 'none';
  var address = 'https://metrics.statmill.test/hit?event=view&session=' + id + '&t=' + Date.now();
  fetch(address, { mode: 'no-cors', keepalive: true });
  window.addEventListener('load', function () {
    navigator.sendBeacon('https://metrics.statmill.test/hit?event=timing', JSON.stringify({ session: id }));
  });
})();
