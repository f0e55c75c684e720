import "./part.js";
(self.ran ||= []).push("1.js");
