import "./dep.js";
(self.ran ||= []).push("m.js");
