"""Cells of the study: a page whose responses say what an edge may store, and the way it is loaded."""

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ways import Way

from loadstone import Page, pages

EXAMPLES = Path(__file__).parents[2] / "examples"
KINDS = {
    "miss": [("cache-control", "no-store")],
    "hit": [("cache-control", "max-age=3600"), ("etag", '"1"')],
    "revalidation": [("cache-control", "no-cache"), ("etag", '"1"')],
}
"""What all responses of a page say, by what a warm cache makes of a request."""


@dataclass(frozen=True)
class EdgeCell:
    """What is loaded in both worlds."""

    example: str
    """A file of `examples/`."""
    kind: str
    protocol: str
    network: str
    backhaul: str
    congestion: str

    @property
    def page(self) -> Page:
        """Give the page, with responses of the kind."""
        return _page(self.example, self.kind)

    @property
    def way(self) -> Way:
        """Give the way on which it is loaded."""
        return Way(self.protocol, self.network, self.backhaul, congestion=self.congestion)


@cache
def _page(example: str, kind: str) -> Page:
    """Give all responses of a page the fields of a kind; what was recorded of their heads is not kept."""
    read = pages.read(str(EXAMPLES / example))
    document = json.loads(read.json)
    for one in document["objects"]:
        one.pop("response_header_bytes", None)
        one["response_fields"] = [("content-type", "application/octet-stream"), *KINDS[kind]]
    # Servers that are real are sent no cookies; by these an edge decides what it stores.
    asked, _ = pages.of_document(document).replayed()
    return replace(read, content=asked)
