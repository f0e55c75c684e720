(self.ran ||= []).push("lib/v2.js");
