(self.ran ||= []).push("other/tag.js");
document.head.append(Object.assign(document.createElement("iframe"), { src: "//other.known.test/third-party-chain/frame.html" }));
