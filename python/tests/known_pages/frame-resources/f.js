(self.ran ||= []).push("f.js");
