(self.ran ||= []).push("new.js");
