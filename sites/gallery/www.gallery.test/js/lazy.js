/* Gives images their addresses when they are near, or when they appear. */
{{code 17000}}
(function () {
  var near = new IntersectionObserver(function (entries) {
    entries.forEach(function (entry) {
      if (!entry.isIntersecting) return;
      near.unobserve(entry.target);
      entry.target.src = entry.target.dataset.src;
    });
  }, { rootMargin: '2400px' });
  new MutationObserver(function (records) {
    records.forEach(function (record) {
      record.addedNodes.forEach(function (node) {
        if (node.nodeName !== 'IMG' || !node.dataset.src) return;
        if (node.className === 'eager') node.src = node.dataset.src;
        else near.observe(node);
      });
    });
  }).observe(document.documentElement, { childList: true, subtree: true });
  document.addEventListener('DOMContentLoaded', function () {
    document.querySelectorAll('img.later').forEach(function (image) { near.observe(image); });
  });
})();
