(self.ran ||= []).push("third.js");
