{{code 30000}}
(function () {
  var form = document.createElement('form');
  form.innerHTML = '<input type="email" placeholder="Your address"><button>Send me the news</button>';
  document.querySelector('footer').appendChild(form);
})();
