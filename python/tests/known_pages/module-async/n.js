(self.ran ||= []).push("n.js");
