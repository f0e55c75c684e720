/* Measures widths of all letters once fonts are there. */
{{code 16000}}
(function () {
  var area = document.createElement('canvas').getContext('2d'), widths = {};
  ['Own Text', 'Hosted Serif', 'Hosted Sans'].forEach(function (family) {
    area.font = '20px "' + family + '"';
    for (var code = 33; code < 380; code++) widths[family + code] = area.measureText(String.fromCharCode(code)).width;
  });
  fetch('/js/kerning.json').then(function (answer) { return answer.json(); });
})();
