(self.ran ||= []).push("slow.js");
