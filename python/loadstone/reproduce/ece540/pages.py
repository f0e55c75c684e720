"""Pages for the study `ece540`, which says little of its own: stated ones.

Its own page moved 9.3 MB with one other address that it refers to (the virtual laboratory), and 9.7 MB with
more of them (EC2, where four connections of SPDY are four servers). How many pictures it had is not known.
"""

from typing import Any

Page = dict[str, Any]
"""A page file (docs/pages.md)."""

PICTURES = 400
PICTURE_BYTES = {"virtual": 22_200, "ec2": 23_100}
"""A little more where more was moved."""
OTHERS = {"virtual": 1, "ec2": 3}
"""Servers that the page refers to beside its own."""
HTML_BYTES = 20_000
OTHER_BYTES = 15_000

HOSTS, OF_EACH = 10, 12
"""Of the shop that stands for the production site, and its objects from each."""
SHOP_BYTES = 10_000
STALE = 7
"""Every so many of its objects is not in a warm cache: some of each host."""


def own(lab: str, pictures: int = PICTURES, size: int | None = None) -> Page:
    """Make the study's own page: HTML, pictures, and a script from each other server."""
    size = PICTURE_BYTES[lab] if size is None else size
    objects: list[dict[str, Any]] = [{"url": "https://own.test/", "bytes": HTML_BYTES}]
    objects += [{"url": f"https://own.test/{place}.jpg", "bytes": size} for place in range(pictures)]
    objects += [
        {"url": f"https://other{place}.test/x.js", "bytes": OTHER_BYTES} for place in range(OTHERS[lab])
    ]
    return {"objects": objects}


def shop(cache: str) -> Page:
    """Make a page of many hosts, with a cache that is `cold` or `warm`."""
    step = {"cold": 1, "warm": STALE}[cache]
    urls = [f"https://s{host}.test/{place}.jpg" for place in range(OF_EACH) for host in range(HOSTS)]
    objects = [{"url": url, "bytes": SHOP_BYTES} for url in urls[::step]]
    return {"objects": [{"url": "https://s0.test/", "bytes": 3 * SHOP_BYTES}, *objects]}
