"""The front page of the study `yahoo`, as far as it is known, and the one number that is chosen.

Known: 30 objects of two domains; one has 14 of them, with 445 KB. Here these 14 are equally long, and the
HTML is one of them; the other 16 have the size that an object has on average by what the study says of all
(`MEAN_OBJECT`). What no size explains is the time that does not depend on the window: the browser's.
"""

from collections.abc import Callable
from typing import Any

Page = dict[str, Any]
"""A page file (docs/pages.md)."""
Build = Callable[[int], Page]
"""Makes a page of the number that is chosen."""

LARGE, SMALL = "a.test", "b.test"
"""The domain with 14 objects of 445 KB, and the other."""
IN_LARGE, IN_SMALL = 14, 16
LARGE_BYTES = 445_000
HTML = LARGE_BYTES // IN_LARGE
MEAN_OBJECT = 12_400
"""Bytes. Nine of ten objects are below 25 KB, and half of the bytes come from those of 60 KB or more
(section 3.2.3): that is a log-normal law with this mean."""
BROWSER_MS = 560
"""The one free choice: what passes in the browser between the HTML and its asking for what is in it. With it
the load without loss and with a window of 3 takes what it took there, 1.87 s."""


def front(browser_ms: int = BROWSER_MS, *, html: int = HTML, small: int = MEAN_OBJECT) -> Page:
    """Make the page: the HTML, then the objects of both domains in turn."""
    root = f"http://{LARGE}/"
    needs = [{"node": root, "on": "end", "ms": browser_ms}]
    objects = [{"url": url, "bytes": size, "needs": needs} for url, size in _embedded(html, small)]
    return {"objects": [{"url": root, "bytes": html}, *objects]}


def listed() -> Page:
    """Make the page for a client that has its list at hand, and asks in as few words as there can be."""
    objects: list[dict[str, Any]] = [{"url": f"http://{LARGE}/", "bytes": HTML}]
    objects += [{"url": url, "bytes": size} for url, size in _embedded(HTML, MEAN_OBJECT)]
    return {"objects": [{**one, "request_header_bytes": 160} for one in objects]}


def found_on_the_way(browser_ms: int) -> Page:
    """Make the page with objects that are found evenly while the HTML arrives."""
    page = front(browser_ms)
    root, *objects = page["objects"]
    for place, one in enumerate(objects, start=1):
        found = root["bytes"] * place // (len(objects) + 1)
        one["needs"] = [{"node": root["url"], "on": "bytes", "bytes": found, "ms": browser_ms}]
    return page


def of_size(size: int) -> Page:
    """Make the page without time in the browser: the HTML and the other domain's objects have one size."""
    return front(0, html=size, small=size)


def behind_a_script(size: int) -> Page:
    """Make that page with a script of the other domain for which all else waits."""
    page = of_size(size)
    root, *others = page["objects"]
    script = next(one for one in others if SMALL in one["url"])
    for one in others:
        one["needs"] = [{"node": (root if one is script else script)["url"], "on": "end", "ms": 0}]
    return page


def _embedded(html: int, small: int) -> list[tuple[str, int]]:
    large = (LARGE_BYTES - html) // (IN_LARGE - 1)
    of_both = [
        [(f"http://{host}/{place}.png", size) for place in range(count)]
        for host, count, size in ((LARGE, IN_LARGE - 1, large), (SMALL, IN_SMALL, small))
    ]
    longest = max(map(len, of_both))
    return [objects[place] for place in range(longest) for objects in of_both if place < len(objects)]
