(self.ran ||= []).push("a.js");
document.body.append(Object.assign(document.createElement("div"), { className: "used" }));
