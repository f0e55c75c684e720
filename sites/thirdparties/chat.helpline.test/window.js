{{code 170000}}
(function () {
  var request = new XMLHttpRequest();
  request.open('GET', '/agents.json?since=' + Date.now());
  request.onload = function () {
    JSON.parse(request.responseText).agents.forEach(function (agent) {
      var image = new Image(32, 32);
      image.alt = agent.name;
      image.src = agent.picture;
      document.getElementById('agents').appendChild(image);
    });
  };
  request.send();
})();
