{{code 24000}}
new Image().src = 'https://stats.conduit.test/collect?kind=audience&v=' + layer[0].visitor + '&rnd=' + Math.floor(Math.random() * 2147483647);
