/* Follows the reader through the page. */
{{code 48000}}
(function () {
  // Reads where each heading stands: the whole page is laid out for it.
  var tops = Array.from(document.querySelectorAll('h2, h3'), function (title) { return title.getBoundingClientRect().top; });
  document.body.dataset.tops = String(tops.length);
  new IntersectionObserver(function (entries) {
    entries.forEach(function (entry) { entry.target.classList.toggle('seen', entry.isIntersecting); });
  }).observe(document.querySelector('h2'));
})();
