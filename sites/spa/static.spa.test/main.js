{{code 330000}}
(function () {
  var headers = { authorization: 'Bearer d3b07384' };
  function api(path, options) {
    return fetch('https://api.spa.test/v1/' + path, Object.assign({ headers: headers }, options)).then(function (answer) { return answer.json(); });
  }
  self.api = api;
  var root = document.getElementById('root');
  api('session').then(function (session) {
    document.documentElement.lang = session.language;
    root.dataset.changes = String(compare(7, 2));
    return Promise.all([chunk('board'), chunk('locale-0'), api('boards/7'), api('users'), api('boards')]);
  }).then(function (all) {
    document.getElementById('splash').remove();
    all[0].show(root, all[2], all[3]);
    api('views', {
      method: 'POST',
      headers: Object.assign({ 'content-type': 'application/json' }, headers),
      body: JSON.stringify({ board: 7 })
    });
    (self.requestIdleCallback || setTimeout)(function () {
      chunk('editor');
      chunk('search');
      sheet('editor');
    });
    return api('notifications');
  }).then(function (news) {
    document.title = '(' + news.unread + ') Board';
    return chunk('activity');
  }).then(function (activity) {
    activity.follow(root);
  });
  window.addEventListener('load', function () {
    navigator.sendBeacon('https://telemetry.watch.test/events', '{"event":"load"}');
    if (!navigator.serviceWorker) return;
    navigator.serviceWorker.addEventListener('controllerchange', function () {
      // From here on the worker answers.
      fetch('/version.json');
    });
    navigator.serviceWorker.register('/sw.js');
  });
})();
