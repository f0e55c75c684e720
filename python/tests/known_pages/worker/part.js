(self.ran ||= []).push("part.js");
