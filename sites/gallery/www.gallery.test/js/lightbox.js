/* Shows a picture large; learns its colours before anyone clicks: some 70 ms of sorting. */
{{code 56000}}
(function () {
  var colours = [];
  for (var n = 0; n < 260000; n++) colours.push((n * 2246822519 >>> 0) % 16777216);
  colours.sort(function (a, b) { return a - b; });
  document.body.dataset.middle = String(colours[130000]);
  setTimeout(function () { new Image().src = 'https://one.pixstore.test/large/1-1280.jpg'; }, 600);
})();
