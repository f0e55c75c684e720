/* Asks for consent, with a text that comes later. */
{{code 60000}}
(function () {
  var address = 'https://consent.choices.test/vendors.json';
  var request = new XMLHttpRequest();
  request.open('GET', address);
  request.onload = function () {
    var box = document.createElement('div');
    box.className = 'consent';
    box.textContent = JSON.parse(request.responseText).vendors.length + ' partners';
    (document.body || document.documentElement).appendChild(box);
  };
  request.send();
})();
