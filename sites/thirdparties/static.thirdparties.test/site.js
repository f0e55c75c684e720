{{code 36000}}
document.querySelectorAll('section h2').forEach(function (title) { title.tabIndex = 0; });
