self.boardChunks.push(['board', function () {
{{code 110000}}
return { show: function (root, board, users) {
  board.lanes.filter(Boolean).forEach(function (lane, number) {
    var tree = ['section', { class: 'lane' }, ['h2', {}, lane.title], ['img', { src: 'https://static.spa.test/cover/' + number + '.jpg', width: 280, height: 120, alt: '' }]];
    lane.cards.forEach(function (card) {
      var user = users.users[card.user];
      tree.push(['article', {}, ['img', { src: user.avatar, width: 32, height: 32, alt: user.name }], ['b', {}, card.title], ['p', {}, card.text], ['code', {}, '#' + card.id]]);
    });
    draw(root, tree);
  });
  var icon = new Image(20, 20);
  icon.src = 'https://static.spa.test/sprite.svg#icon-3';
  root.appendChild(icon);
} };
}]);
