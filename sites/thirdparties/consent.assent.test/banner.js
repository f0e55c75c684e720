{{code 84000}}
fetch('https://consent.assent.test/texts.json?site=lamplight&nonce=' + Math.random().toString(16).slice(2))
  .then(function (answer) { return answer.json(); })
  .then(function (texts) {
    var sheet = document.createElement('link');
    sheet.rel = 'stylesheet';
    sheet.href = 'https://consent.assent.test/banner.css';
    document.head.appendChild(sheet);
    var box = document.createElement('div');
    box.className = 'assent';
    box.textContent = texts.text;
    document.body.appendChild(box);
  });
