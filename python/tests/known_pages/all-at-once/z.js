(self.ran ||= []).push("z.js");
fetch("z.json");
