{{code 120000}}
document.querySelector('video').title = document.querySelector('p').textContent;
