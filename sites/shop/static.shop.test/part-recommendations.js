{{code 26000}}
(function () {
  var list = document.createElement('div');
  for (var i = 20; i < 24; i++) {
    var image = new Image(160, 160);
    image.src = 'https://img.shopcdn.test/p/' + i + '-320.jpg';
    list.appendChild(image);
  }
  document.querySelector('.text').appendChild(list);
})();
