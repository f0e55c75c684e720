/* Written into the document: draws one slot at once. */
{{code 9000}}
document.write('<a href="https://ads.adnet.test/click"><img width="728" height="90" alt="" src="https://creative.adnet.test/banner-0.jpg"></a>');
new Image().src = 'https://ads.adnet.test/seen?place=top&ord=' + Math.floor(Math.random() * 1e9);
