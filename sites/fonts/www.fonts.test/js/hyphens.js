/* Finds where words may be parted, by patterns: some 40 ms. */
{{code 22000}}
(function () {
  var patterns = {}, points = 0;
  for (var n = 0; n < 30000; n++) patterns[(n * 2654435761 >>> 0).toString(36).slice(0, 5)] = n % 9;
  document.querySelectorAll('p').forEach(function (paragraph) {
    var word = paragraph.textContent;
    for (var at = 0; at < word.length; at++) {
      for (var size = 2; size < 10; size++) points += patterns[word.substr(at, size)] || 0;
    }
  });
  document.body.dataset.points = String(points);
})();
