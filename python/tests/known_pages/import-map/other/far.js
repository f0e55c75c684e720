export const far = true;
(self.ran ||= []).push("other/far.js");
