{{code 34000}}
addEventListener('DOMContentLoaded', function () {
  var frame = document.createElement('iframe');
  frame.width = 300;
  frame.height = 250;
  frame.title = 'Creative';
  frame.src = 'https://cdn.creatives.test/creative.html' + location.search;
  document.body.appendChild(frame);
});
