(self.ran ||= []).push("1.js");
document.head.append(Object.assign(document.createElement("script"), { src: "2.js" }));
