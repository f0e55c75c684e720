(self.ran ||= []).push("2.js");
