{{code 30000}}
fetch('https://api.shop.test/v2/basket?session=' + shop.session + '&_=' + Date.now(), { credentials: 'include' })
  .then(function (answer) { return answer.json(); })
  .then(function (basket) { document.querySelector('#basket span').textContent = basket.count; });
