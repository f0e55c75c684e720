import "./n.js";
(self.ran ||= []).push("m.js");
