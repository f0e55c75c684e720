{{code 22000}}
(function () {
  var number = Number((location.search.match(/creative=(\d)/) || [])[1] || 0);
  var picture = new Image(300, 250), logo = new Image(40, 40);
  picture.onload = function () { document.getElementById('ad').append(picture, logo); };
  picture.src = 'ad-' + number + '.jpg';
  logo.src = 'logo-' + number % 4 + '.png';
})();
