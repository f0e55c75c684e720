self.boardChunks.push(['editor', function () {
{{code 150000}}
return {};
}]);
