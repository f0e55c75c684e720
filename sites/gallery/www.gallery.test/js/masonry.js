/* Lays pictures out in columns: reads and writes layout in turns, which costs. */
{{code 32000}}
(function () {
  var columns = [0, 0, 0, 0, 0, 0];
  document.querySelectorAll('.grid a').forEach(function (tile, at) {
    var height = tile.offsetHeight;
    columns[at % 6] += height;
    tile.style.marginTop = (columns[at % 6] % 3) + 'px';
  });
  document.body.dataset.height = String(Math.max.apply(null, columns));
})();
