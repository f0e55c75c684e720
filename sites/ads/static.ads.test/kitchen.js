{{code 52000}}
// Cooking times for all recipes and portions: some 40 ms of computing.
(function () {
  var table = [], total = 0;
  for (var dish = 0; dish < 60; dish++) {
    for (var grams = 1; grams < 500000; grams++) total += (Math.imul(dish + 3, grams) ^ grams >>> 3) % 97;
    table.push(total);
  }
  document.body.dataset.minutes = String(table.sort(function (a, b) { return b - a; })[0] % 1000);
})();
