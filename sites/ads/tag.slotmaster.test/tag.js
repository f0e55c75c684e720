/* Draws slots once the auction has ended, or without it after a second. */
{{code 120000}}
(function () {
  var done = false;
  function fill(slot, round) {
    var best = kitchen.bids.flatMap(function (answer) {
      return answer.seats.filter(Boolean).filter(function (seat) { return seat.slot === slot; }).map(function (seat) {
        return { bidder: answer.bidder, price: seat.price, creative: seat.creative };
      });
    }).sort(function (a, b) { return b.price - a.price; })[0] || { bidder: 'house', price: 0, creative: slot };
    var frame = document.createElement('iframe');
    frame.width = 300;
    frame.height = 250;
    frame.title = 'Advertisement';
    frame.src = 'https://render.slotmaster.test/safe.html?slot=' + slot + '&creative=' + (best.creative + round) % 6 +
      '&auction=' + kitchen.auction + '&cb=' + Date.now();
    var place = document.querySelector('.slot[data-slot="' + slot + '"]');
    place.replaceChildren(frame);
    new Image().src = 'https://tag.slotmaster.test/impression?slot=' + slot + '&round=' + round + '&ord=' + Math.floor(Math.random() * 1e9);
    if (best.price) new Image().src = 'https://bid.' + best.bidder + '.test/won?price=' + best.price + '&auction=' + kitchen.auction + '&r=' + round;
  }
  kitchen.render = function () {
    if (done) return;
    done = true;
    var draw = function () { [0, 1, 2].forEach(function (slot) { fill(slot, 0); }); };
    if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', draw);
    else draw();
    // The first slot changes its picture once more.
    setTimeout(fill, 1200, 0, 1);
  };
  if (kitchen.queue.length) kitchen.render();
  else setTimeout(kitchen.render, 1000);
  new Image().src = 'https://id.graphkey.test/match?partner=slotmaster&rnd=' + Math.random();
})();
