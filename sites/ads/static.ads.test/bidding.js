/* The auction: asks all bidders, waits at most 400 ms, hands over what has come. */
{{code 160000}}
(function () {
  var bidders = ['alpha', 'brook', 'cedar', 'delta', 'ember'], open = bidders.length, closed = false;
  function close(why) {
    if (closed) return;
    closed = true;
    kitchen.queue.push(why);
    if (kitchen.render) kitchen.render();
    navigator.sendBeacon('https://tag.slotmaster.test/log?auction=' + kitchen.auction + '&why=' + why, 'bids=' + kitchen.bids.length);
  }
  fetch('https://id.graphkey.test/v3/ids?r=' + Math.random().toString(36).slice(2), { credentials: 'include' })
    .then(function (answer) { return answer.json(); })
    .then(function (ids) {
      bidders.forEach(function (bidder, at) {
        fetch('https://bid.' + bidder + '.test/auction?id=' + kitchen.auction + '&t=' + Date.now(), {
          method: 'POST',
          credentials: 'include',
          // Two want JSON said so, and therefore a preflight.
          headers: { 'content-type': at === 2 || at === 3 ? 'application/json' : 'text/plain' },
          body: JSON.stringify({ slots: [0, 1, 2], ids: ids.ids, page: location.href })
        }).then(function (answer) { return answer.json(); }).then(function (answer) {
          if (closed) return;
          kitchen.bids.push(answer);
          if (!--open) close('all');
        });
      });
      setTimeout(close, 400, 'time');
    });
})();
