"""What a page has painted into its first view: asked of the page itself, when its load is over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
  const pixels = {}, width = innerWidth, height = innerHeight;
  for (const element of [...document.querySelectorAll('*')].slice(0, 20000)) {
    const named = element.currentSrc && element.localName == 'img' ? element.currentSrc
      : element.localName == 'video' ? element.poster
      : (/url\\("([^"]+)"\\)/.exec(getComputedStyle(element).backgroundImage) || [])[1];
    if (!named || !/^https?:/.test(named)) continue;
    const box = element.getBoundingClientRect();
    const across = Math.min(box.right, width) - Math.max(box.left, 0);
    const down = Math.min(box.bottom, height) - Math.max(box.top, 0);
    if (across > 0 && down > 0) pixels[named] = Math.round((pixels[named] || 0) + across * down);
  }
  return {view: width * height, pixels, ms: largest && largest.startTime, url: largest && largest.url || ''};
})()"""
"""Its answer is JSON. Of images those in the view count, with the parts of them that are."""


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

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> "Painting":
        """Read the answer of `Runtime.evaluate`; a page that answers something else has painted nothing."""
        said = answer.get("result", {}).get("value")
        try:
            pixels = {str(url): int(count) for url, count in said["pixels"].items()}
            largest = None if said["ms"] is None else float(said["ms"])
            return cls(int(said["view"]), pixels, largest, str(said["url"]))
        except (TypeError, KeyError, ValueError, AttributeError):
            return cls()
