(self.ran ||= []).push("d.js");
