(self.ran ||= []).push("a.js");
