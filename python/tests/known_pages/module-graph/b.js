import "./c.js";
(self.ran ||= []).push("b.js");
