importScripts('/js/stems.js');
fetch('https://search.manual.test/index.json').then(function (answer) { return answer.json(); }).then(function (index) {
  var entries = {};
  index.pages.forEach(function (page) {
    page.text.split(' ').forEach(function (word) { (entries[stem(word)] = entries[stem(word)] || []).push(page.id); });
  });
  postMessage(Object.keys(entries).length);
});
