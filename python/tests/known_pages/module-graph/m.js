import "./a.js";
import "./b.js";
(self.ran ||= []).push("m.js");
