/* Buttons below each story. */
{{code 18000}}
(window.ready || setTimeout)(function () {
  document.querySelectorAll('article').forEach(function (story) {
    var button = document.createElement('button');
    button.textContent = 'Share';
    story.appendChild(button);
  });
});
