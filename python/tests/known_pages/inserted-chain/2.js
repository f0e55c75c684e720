(self.ran ||= []).push("2.js");
document.head.append(Object.assign(document.createElement("script"), { src: "3.js" }));
