(self.ran ||= []).push("y.js");
