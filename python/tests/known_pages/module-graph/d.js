export const d = 4;
(self.ran ||= []).push("d.js");
