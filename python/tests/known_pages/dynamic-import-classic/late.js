(self.ran ||= []).push("late.js");
