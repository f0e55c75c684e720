(self.ran ||= []).push("p.js");
