"""What a browser says of how a page was loaded: navigation, resource and paint timing (W3C)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SCRIPT = """
(async () => {
  const entries = (type) => performance.getEntriesByType(type).map((entry) => entry.toJSON());
  while (!(performance.getEntriesByType("navigation")[0].loadEventEnd > 0))
    await new Promise((done) => setTimeout(done, 0));
  const largest = await new Promise((done) => {
    const observer = new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime));
    observer.observe({type: "largest-contentful-paint", buffered: true});
    setTimeout(() => done(null), 50);
  });
  const [navigation] = entries("navigation");
  return JSON.stringify({navigation, resources: entries("resource"), paints: entries("paint"), largest});
})()
"""
"""Asks for it, when the load event is over."""


@dataclass(frozen=True)
class ResourceTiming:
    """How an object of a page was loaded; times in ms since the navigation began."""

    url: str
    started_ms: float
    ended_ms: float
    protocol: str
    """Its ALPN name; empty if it came from a cache, or if its server does not allow to say it."""
    bytes: int
    """As transferred, heads included; 0 for the same reasons."""


@dataclass(frozen=True)
class PageTiming:
    """How a page was loaded; times in ms since the navigation began."""

    url: str
    protocol: str
    """Of the document."""
    first_byte_ms: float
    dom_content_loaded_ms: float
    onload_ms: float
    """When the load event began."""
    first_contentful_paint_ms: float | None
    largest_contentful_paint_ms: float | None
    """So far as it had come when the load event was over."""
    resources: Sequence[ResourceTiming]
    """All objects but the document."""

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "PageTiming":
        """Read what the script says."""
        navigation = said["navigation"]
        paints = {paint["name"]: float(paint["startTime"]) for paint in said["paints"]}
        return cls(
            url=navigation["name"],
            protocol=navigation["nextHopProtocol"],
            first_byte_ms=navigation["responseStart"],
            dom_content_loaded_ms=navigation["domContentLoadedEventStart"],
            onload_ms=navigation["loadEventStart"],
            first_contentful_paint_ms=paints.get("first-contentful-paint"),
            largest_contentful_paint_ms=said["largest"],
            resources=[
                ResourceTiming(
                    one["name"],
                    one["startTime"],
                    one["responseEnd"],
                    one["nextHopProtocol"],
                    one["transferSize"],
                )
                for one in said["resources"]
            ],
        )
