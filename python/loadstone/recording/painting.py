"""What a page has painted into its first view: asked of the page itself, when its load is over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadstone.recording.film import Box, Step

ASK = """(async () => {
  const largest = await new Promise(done => {
    let last = null;
    try {
      new PerformanceObserver(list => { for (const entry of list.getEntries()) last = entry; })
        .observe({type: 'largest-contentful-paint', buffered: true});
    } catch { done(null); }
    // What is buffered comes in a task of its own.
    setTimeout(() => done(last), 100);
  });
  const pixels = {}, boxes = [], texts = [], width = innerWidth, height = innerHeight;
  const box = (url, {left, top, right, bottom}) => {
    const edges = [Math.max(left, 0), Math.max(top, 0), Math.min(right, width), Math.min(bottom, height)];
    return edges[2] > edges[0] && edges[3] > edges[1] && [url, ...edges.map(Math.round)];
  };
  for (const element of [...document.querySelectorAll('*')].slice(0, 20000)) {
    for (const text of element.childNodes) {
      if (text.nodeType != 3 || !text.data.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(text);
      for (const rectangle of range.getClientRects()) texts.push(box('', rectangle));
    }
    if (['iframe', 'object', 'embed'].includes(element.localName))
      boxes.push(box(element.src || element.data || '', element.getBoundingClientRect()));
    const named = element.currentSrc && element.localName == 'img' ? element.currentSrc
      : element.localName == 'video' ? element.poster
      : (/url\\("([^"]+)"\\)/.exec(getComputedStyle(element).backgroundImage) || [])[1];
    if (!named || !/^https?:/.test(named)) continue;
    const rectangle = element.getBoundingClientRect();
    boxes.push(box(named, rectangle));
    const across = Math.min(rectangle.right, width) - Math.max(rectangle.left, 0);
    const down = Math.min(rectangle.bottom, height) - Math.max(rectangle.top, 0);
    if (across > 0 && down > 0) pixels[named] = Math.round((pixels[named] || 0) + across * down);
  }
  const area = ([, left, top, right, bottom]) => (right - left) * (bottom - top);
  const seen = boxes.filter(one => one).sort((a, b) => area(b) - area(a)).slice(0, 2000);
  return {
    view: width * height, pixels, ms: largest && largest.startTime, url: largest && largest.url || '',
    boxes: [...seen, ...texts.filter(one => one).slice(0, 20000)],
  };
})()"""
"""Its answer is JSON. Of images, frames and texts what is in the view counts."""


@dataclass(frozen=True)
class Painting:
    """What was painted."""

    view_pixels: int | None = None
    """How many pixels the view has; `None` if the page did not answer."""
    pixels: Mapping[str, int] = field(default_factory=dict)
    """How many of them each image covers, by its URL."""
    largest_ms: float | None = None
    """When the largest contentful paint was, since the navigation."""
    largest_image: str = ""
    """The URL of what it painted; nothing if it was text."""
    boxes: Sequence[Box] = ()
    """Where images and frames are, the largest first, then texts, which are in nobody's place."""
    steps: Sequence[Step] = ()
    """In which steps the view became complete, if the load was filmed."""

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> "Painting":
        """Read the answer of `Runtime.evaluate`; a page that answers something else has painted nothing."""
        said = answer.get("result", {}).get("value")
        try:
            pixels = {str(url): int(count) for url, count in said["pixels"].items()}
            largest = None if said["ms"] is None else float(said["ms"])
            boxes = [
                (str(url), int(x), int(y), int(to_x), int(to_y)) for url, x, y, to_x, to_y in said["boxes"]
            ]
            return cls(int(said["view"]), pixels, largest, str(said["url"]), boxes)
        except (TypeError, KeyError, ValueError, AttributeError):
            return cls()
