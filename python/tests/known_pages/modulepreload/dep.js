(self.ran ||= []).push("dep.js");
