"""Everything comes from the document's host: no other name, no other connection.

Try it:

    python examples/policies/self_hosted.py example:news
"""

import sys
from typing import Any
from urllib.parse import urlsplit

import loadstone


def self_hosted(page: dict[str, Any]) -> dict[str, Any]:
    """Move each object to the document's host; what needs called it by its URL still finds it by its name."""
    main = urlsplit(page["objects"][0]["url"])
    for one in page["objects"][1:]:
        one.setdefault("name", one["url"])
        one["url"] = urlsplit(one["url"])._replace(scheme=main.scheme, netloc=main.netloc).geturl()
    return page


if __name__ == "__main__":
    page = loadstone.Page.read(sys.argv[1])
    for name, made in [("as it is", page), ("self-hosted", page.under(self_hosted))]:
        print(f"{name:12} {loadstone.load(made, network='4g', protocol='h2').median_plt_ms:,.0f} ms")
