/* Third link: a script that asks for a list, and then for each part of it. */
{{code 60000}}
(function () {
  // Reads a timetable of its own making and sorts it: some 40 ms.
  function timetable() {
    var text = '[';
    for (var i = 0; i < 75000; i++) text += (i ? ',' : '') + '{"from":' + (i * 7919 % 1009) + ',"at":' + (i * 104729 % 86400) + '}';
    var rows = JSON.parse(text + ']');
    rows.sort(function (a, b) { return a.from - b.from || a.at - b.at; });
    return rows.length;
  }
  function get(address, then) {
    var request = new XMLHttpRequest();
    request.open('GET', address);
    request.onload = function () { then(JSON.parse(request.responseText)); };
    request.send();
  }
  get(config.offers, function (list) {
    var place = document.getElementById('offers');
    place.textContent = timetable() + ' connections';
    get(list.next, function (more) {
      list.offers.concat(more.offers).forEach(function (offer) {
        var box = document.createElement('div');
        box.className = 'offer';
        box.innerHTML = '<img alt="" src="' + offer.image + '"><h2>' + offer.title + '</h2>';
        place.appendChild(box);
      });
      var map = document.createElement('div');
      map.className = 'map';
      place.appendChild(map);
    });
    // A first picture at once, its follower when it is there.
    var first = new Image();
    first.onload = function () { new Image().src = 'https://img.chain.test/place/13.jpg'; };
    first.src = 'https://img.chain.test/place/12.jpg';
  });
})();
