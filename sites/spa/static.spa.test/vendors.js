/* The framework. */
{{code 620000}}
self.draw = function (place, tree) {
  if (typeof tree === 'string') return place.appendChild(document.createTextNode(tree));
  var node = document.createElement(tree[0]);
  Object.keys(tree[1]).forEach(function (key) { node.setAttribute(key, tree[1][key]); });
  tree.slice(2).forEach(function (inner) { self.draw(node, inner); });
  return place.appendChild(node);
};
// Compares two trees as frameworks do when something has changed: about 40 ms for what is compared below.
self.compare = function (depth, salt) {
  var tree = function (level, seed) {
    if (!level) return { key: 'leaf-' + (seed % 97), inner: [] };
    return { key: 'node-' + (seed % 89), inner: [1, 2, 3, 4, 5].map(function (n) { return tree(level - 1, seed * 31 + n | 0); }) };
  };
  var changes = 0;
  (function walk(a, b) {
    if (a.key !== b.key) changes++;
    a.inner.forEach(function (one, at) { walk(one, b.inner[at]); });
  })(tree(depth, 1), tree(depth, salt));
  return changes;
};
