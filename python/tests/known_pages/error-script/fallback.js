(self.ran ||= []).push("fallback.js");
