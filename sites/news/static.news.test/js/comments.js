/* Counts of comments, and nothing else until someone clicks. */
{{code 38000}}
ready(function () {
  document.querySelectorAll('article h2').forEach(function (title, index) {
    title.dataset.comments = String(index * 7 % 90);
  });
});
