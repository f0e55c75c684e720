{{code 14000}}
self.stem = function (word) { return word.toLowerCase().replace(/(ing|ed|s|\.)$/, ''); };
