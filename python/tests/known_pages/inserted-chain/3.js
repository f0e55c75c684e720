(self.ran ||= []).push("3.js");
