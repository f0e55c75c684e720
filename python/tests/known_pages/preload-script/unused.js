(self.ran ||= []).push("unused.js");
