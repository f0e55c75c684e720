// What a reader would complain about: text over text, text cut off, text too faint. Gives sentences.
() => {
  const complaints = [];
  const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const name = (element) => `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""}`;

  // Each line of text is one piece.
  const pieces = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script, style, noscript, #tip") || !shown(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const at of range.getClientRects()) {
      if (at.width > 0.5 && at.height > 0.5) pieces.push({ at, element, text: node.data.trim().slice(0, 60) });
    }
  }

  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) complaints.push("the page scrolls sideways");
  for (const { at, element, text } of pieces) {
    if (at.left < -0.5 || at.right > width + 0.5) complaints.push(`leaves the page: ${name(element)} ${text}`);
    for (let box = element; box !== document.body; box = box.parentElement) {
      if (getComputedStyle(box).overflow === "visible") continue;
      const inner = box.getBoundingClientRect();
      if (at.left < inner.left - 1 || at.right > inner.right + 1 || at.top < inner.top - 2 || at.bottom > inner.bottom + 2) {
        complaints.push(`cut off by ${name(box)}: ${text}`);
      }
    }
  }

  // The height of a line of text is more than its letters need.
  const inset = (at) => at.height * 0.14;
  pieces.sort((first, second) => first.at.top - second.at.top);
  pieces.forEach((first, k) => {
    for (let m = k + 1; m < pieces.length && pieces[m].at.top < first.at.bottom; m++) {
      const [one, other] = [first.at, pieces[m].at];
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const along = Math.min(one.bottom - inset(one), other.bottom - inset(other)) - Math.max(one.top + inset(one), other.top + inset(other));
      if (across > 1 && along > 0.5) complaints.push(`overlap: ${first.text} | ${pieces[m].text}`);
    }
  });

  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = channels(colour).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let box = element; box; box = box.parentElement) {
      const colour = getComputedStyle(box).backgroundColor;
      if (channels(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const faint = new Map();
  for (const { element, text } of pieces) {
    const style = getComputedStyle(element);
    const [dark, light] = [luminance(element.namespaceURI.endsWith("svg") ? style.fill : style.color), luminance(ground(element))].sort((a, b) => a - b);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) faint.set(name(element), `faint (${contrast.toFixed(2)}): ${name(element)} ${text}`);
  }
  complaints.push(...faint.values());
  return { pieces: pieces.length, complaints };
}
