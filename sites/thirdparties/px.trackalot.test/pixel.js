{{code 30000}}
(function () {
  var pixel = new Image(1, 1);
  pixel.onload = function () { layer.push({ synced: Date.now() }); };
  pixel.src = 'https://px.trackalot.test/p?id=' + layer[0].visitor + '&ts=' + Date.now();
})();
