import "./part.js";
(self.ran ||= []).push("late.js");
