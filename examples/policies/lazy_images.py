"""Images further down are lazy: they are fetched, but no load event waits for them.

Try it:

    python examples/policies/lazy_images.py example:news
"""

import sys
from typing import Any

import loadstone

IMAGES = (".webp", ".jpg", ".png", ".gif", ".avif")


def lazy_images(page: dict[str, Any]) -> dict[str, Any]:
    """Let the page wait for its first three images alone, and ask for the others last."""
    images = [one for one in page["objects"] if one["url"].partition("?")[0].endswith(IMAGES)]
    for one in images[3:]:
        one.update(needed=False, urgency=7)
    return page


if __name__ == "__main__":
    page = loadstone.Page.read(sys.argv[1])
    for name, made in [("as it is", page), ("lazy images", page.under(lazy_images))]:
        print(f"{name:12} {loadstone.load(made, network='4g', protocol='h2').median_plt_ms:,.0f} ms")
