(self.ran ||= []).push("b.js");
