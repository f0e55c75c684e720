(self.ran ||= []).push("old.js");
