{{code 190000}}
fetch('style.json').then(function (answer) { return answer.json(); }).then(function (style) {
  style.tiles.forEach(function (tile, at) {
    var image = new Image(256, 256);
    image.style.left = (at % 4) * 256 + 'px';
    image.style.top = (at >> 2) * 256 + 'px';
    image.src = tile;
    document.getElementById('map').appendChild(image);
  });
});
