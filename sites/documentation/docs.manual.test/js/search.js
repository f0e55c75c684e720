/* Has a worker build the index when there is time. */
{{code 30000}}
(function () {
  var later = window.requestIdleCallback || setTimeout;
  later(function () {
    var worker = new Worker('/js/index-worker.js');
    worker.onmessage = function (event) { document.body.dataset.indexed = String(event.data); };
  });
})();
