self.boardChunks.push(['activity', function () {
{{code 36000}}
return { follow: function (root) {
  chunk('locale-1').then(function () { return api('activity'); }).then(function (list) {
    list.entries.forEach(function (entry) { draw(root, ['p', {}, entry.text]); });
  });
} };
}]);
