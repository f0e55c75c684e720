(self.ran ||= []).push("1.js");
