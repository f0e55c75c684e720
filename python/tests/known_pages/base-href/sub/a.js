(self.ran ||= []).push("sub/a.js");
