importScripts("part.js");
(self.ran ||= []).push("w.js");
fetch("d.json");
