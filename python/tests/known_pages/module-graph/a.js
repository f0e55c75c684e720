import "./c.js";
(self.ran ||= []).push("a.js");
