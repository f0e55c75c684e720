/* In the parser's way: says that fonts are coming, and asks for one by script. */
{{code 14000}}
document.documentElement.className = 'waiting';
(function () {
  var face = new FontFace('Specimen', 'url(https://files.typehost.test/k/serif-5.woff2)', { display: 'swap' });
  face.load().then(function (ready) {
    document.fonts.add(ready);
    document.documentElement.className = 'ready';
  });
  document.fonts.ready.then(function () {
    var late = document.createElement('script');
    late.src = '/js/metrics.js';
    document.head.appendChild(late);
  });
})();
