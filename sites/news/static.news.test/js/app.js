/* The page's own script. */
{{code 90000}}
(function () {
  // Weighs all words of the page, as a recommendation engine on the client does: about 50 ms of computing.
  function weigh(text) {
    var counts = new Map();
    for (var round = 0; round < 60; round++) {
      text.toLowerCase().split(/\W+/).forEach(function (word) {
        var hash = 2166136261;
        for (var i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 16777619);
        counts.set(word + ':' + (hash & 255) + ':' + round, (counts.get(word) || 0) + 1);
      });
    }
    return Array.from(counts).sort(function (a, b) { return b[1] - a[1] || (a[0] < b[0] ? -1 : 1); });
  }
  ledger.weights = weigh(document.body.textContent).slice(0, 50);

  fetch('/api/most-read.json?section=front&_=' + Date.now())
    .then(function (answer) { return answer.json(); })
    .then(function (list) {
      document.getElementById('most-read').innerHTML = list.stories.map(function (story) {
        return '<li><a href="/story/' + story.id + '">' + story.title + '</a></li>';
      }).join('');
    });
  window.addEventListener('load', function () {
    setTimeout(function () {
      fetch('/api/live.json?since=' + ledger.begun);
    }, 400);
  });
})();
