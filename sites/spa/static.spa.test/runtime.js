/* Loads parts, each once. */
(function () {
  var waiting = {}, made = {};
  function arrive(part) {
    made[part[0]] = part[1]();
    (waiting[part[0]] || []).forEach(function (done) { done(made[part[0]]); });
  }
  self.boardChunks = { push: arrive };
  self.chunk = function (name) {
    return new Promise(function (done) {
      if (made[name]) return done(made[name]);
      (waiting[name] = waiting[name] || []).push(done);
      if (waiting[name].length > 1) return;
      var script = document.createElement('script');
      script.src = 'https://static.spa.test/chunks/' + name + '.js';
      document.head.appendChild(script);
    });
  };
  self.sheet = function (name) {
    var link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = 'https://static.spa.test/' + name + '.css';
    document.head.appendChild(link);
  };
})();
