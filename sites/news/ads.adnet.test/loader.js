/* Fills the other slots with frames. */
{{code 42000}}
(function () {
  var page = Math.floor(Math.random() * 1e12).toString(16);
  ['side', 'bottom'].forEach(function (place, index) {
    var frame = document.createElement('iframe');
    frame.width = 300;
    frame.height = 250;
    frame.title = 'Advertisement';
    frame.src = 'https://creative.adnet.test/frame.html?place=' + place + '&page=' + page + '&ord=' + Date.now();
    var fill = function () { document.getElementById('slot-' + place).appendChild(frame); };
    if (index) document.addEventListener('DOMContentLoaded', fill);
    else fill();
  });
})();
