{{code 28000}}
(function () {
  var request = new XMLHttpRequest();
  request.open('GET', 'https://reviews.starcount.test/summary.json?shop=lumen&r=' + Math.random());
  request.onload = function () {
    var stars = JSON.parse(request.responseText).stars;
    document.querySelectorAll('.stars').forEach(function (place, index) {
      place.style.backgroundImage = 'url("https://reviews.starcount.test/stars.png")';
      place.textContent = stars[index % stars.length].average;
    });
  };
  request.send();
})();
