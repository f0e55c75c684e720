/* Finds parts of the bundle. */
window.parts = { load: function (name) {
  return new Promise(function (done, fail) {
    var script = document.createElement('script');
    script.src = 'https://static.shop.test/part-' + name + '.js';
    script.onload = done;
    script.onerror = fail;
    document.head.appendChild(script);
  });
} };
{{code 4000}}
