{{code 26000}}
document.addEventListener('DOMContentLoaded', function () {
  var banner = new Image(300, 250);
  banner.onload = function () {
    new Image().src = 'https://ads.adnet.test/seen' + location.search + '&seen=' + Date.now();
  };
  banner.src = location.search.indexOf('place=side') > 0 ?
    'https://creative.adnet.test/banner-1.jpg' : 'https://creative.adnet.test/banner-2.jpg';
  document.getElementById('stage').appendChild(banner);
});
