{{code 40000}}
document.fonts.load('700 20px "Hosted Serif"');
