"""Fonts are found with the document's first byte, as if it had `rel=preload` for each.

Try it:

    python examples/policies/fonts_first.py example:shop
"""

import sys
from typing import Any

import loadstone


def fonts_first(page: dict[str, Any]) -> dict[str, Any]:
    """Let fonts wait for nothing but the document."""
    root = page["objects"][0]
    found = [{"node": root.get("name", root["url"]), "on": "bytes", "bytes": 1}]
    for one in page["objects"][1:]:
        if one["url"].endswith(".woff2"):
            one["needs"] = found
    return page


if __name__ == "__main__":
    page = loadstone.Page.read(sys.argv[1])
    for name, made in [("as it is", page), ("fonts first", page.under(fonts_first))]:
        print(f"{name:12} {loadstone.load(made, network='4g', protocol='h2').median_plt_ms:,.0f} ms")
