(self.ran ||= []).push("m.js");
import("./late.js");
