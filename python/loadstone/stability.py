"""What is sure of a page that was put together from several loads: its edges, objects, URLs and computing."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from loadstone import text
from loadstone.pages import Page

_SHOWN = 10
"""How many URLs text shows; documents have all."""


@dataclass(frozen=True)
class Stability:
    """How alike the loads of a page were."""

    count: int
    """How many loads."""
    edges: int
    unstable_edges: int
    """Those that not all loads had which had what waits."""
    unstable_objects: Sequence[str]
    """What needs call the objects that not all loads had."""
    left_out_objects: int
    """How many objects other loads had besides."""
    changing_urls: Sequence[str]
    """URLs of objects that had another one in other loads."""
    computing_percent: float
    """The standard deviation of all computing together, between loads."""
    own_computing_percent: float
    """That of a moment of computing besides, on average."""

    @classmethod
    def of(cls, page: Page) -> "Stability | None":
        """Read it from the page; `None` where that is of one load."""
        file = json.loads(page.json)
        if (loads := file.get("loads")) is None:
            return None
        objects, nodes = file["objects"], file.get("compute", [])
        needs = [need for one in (*objects, *nodes) for need in one.get("needs") or []]
        return cls(
            count=loads["count"],
            edges=len(needs),
            unstable_edges=sum("seen" in need for need in needs),
            unstable_objects=[one.get("name", one["url"]) for one in objects if "seen" in one],
            left_out_objects=loads.get("left_out", 0),
            changing_urls=[one["url"] for one in objects if one.get("changes")],
            computing_percent=loads.get("deviation_percent", 0.0),
            own_computing_percent=_own_percent(nodes),
        )

    def document(self) -> dict[str, Any]:
        """Give it for machines."""
        return asdict(self)

    def in_words(self) -> str:
        """Give it for people."""
        rows = [
            ["loads put together", f"{self.count}"],
            ["  edges that not all have", f"{self.unstable_edges} of {self.edges}"],
            ["  objects that not all have", f"{len(self.unstable_objects)}"],
            ["  objects of others, left out", f"{self.left_out_objects}"],
            ["  objects whose URL changes", f"{len(self.changing_urls)}"],
            ["  deviation of all computing", f"{self.computing_percent:.1f} %"],
            ["  deviation of each node besides", f"{self.own_computing_percent:.1f} %"],
        ]
        room = text.width() - 4
        urls = [f"  {text.shorten(text.printable(url), room)}" for url in self.changing_urls[:_SHOWN]]
        if more := len(self.changing_urls) - len(urls):
            urls.append(f"  and {more} more")
        shown = ["\n".join(["URLs that change", *urls])] if urls else []
        return "\n\n".join([text.table(rows, left=2), *shown])


def _own_percent(nodes: Sequence[dict[str, Any]]) -> float:
    """Give the root of the mean square, by time: what many short nodes do is of little weight."""
    total = sum(node["ms"] for node in nodes)
    squares = sum(node["ms"] * node.get("deviation_percent", 0.0) ** 2 for node in nodes)
    return round(math.sqrt(squares / total), 1) if total else 0.0
