import { d } from "./d.js";
(self.ran ||= []).push("c.js");
self.d = d;
