(self.ran ||= []).push("w.js");
