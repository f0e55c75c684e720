/* Chooses what this visitor sees, before anything is seen: some 60 ms of computing in the parser's way. */
{{code 70000}}
(function () {
  var visitor = layer[0].visitor, buckets = new Uint32Array(1024), hash = 2166136261;
  for (var round = 0; round < 1100000; round++) {
    var text = visitor + ':' + (round & 1023);
    for (var i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
    buckets[hash >>> 22]++;
  }
  layer.push({ variant: buckets.indexOf(Math.max.apply(null, buckets)) % 2 });
  document.documentElement.dataset.variant = String(layer[1].variant);
})();
