/* A library of the old kind: large, and in the parser's way. */
window.ready = function (run) {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', run);
  else run();
};
{{code 210000}}
