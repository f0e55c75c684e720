self.boardChunks.push(['search', function () {
{{code 45000}}
return {};
}]);
