"""A page's graph as the tests of known pages read it: what each activity waits for, also through others."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from known_server import url


@dataclass(frozen=True)
class Edge:
    """A need of an activity."""

    node: str
    on: str
    count: int
    timer_ms: float
    why: str | None

    @classmethod
    def of(cls, need: dict[str, Any]) -> "Edge":
        on, count = need.get("on", "end"), need.get("bytes", 0)
        return cls(need["node"], on, count, need.get("timer_ms", 0.0), need.get("why"))


@dataclass
class Before:
    """All that must have happened before an activity begins."""

    ended: set[str] = field(default_factory=set)
    """Objects that are complete."""
    begun: set[str] = field(default_factory=set)
    """Compute nodes that have begun, or ended."""
    count: dict[str, int] = field(default_factory=dict)
    """Objects of which so many bytes have come."""
    edges: set[Edge] = field(default_factory=set)

    def add(self, other: "Before") -> None:
        self.ended |= other.ended
        self.begun |= other.begun
        self.edges |= other.edges
        for name, count in other.count.items():
            self.count[name] = max(count, self.count.get(name, 0))


class Graph:
    """A page file of a known page."""

    def __init__(self, name: str, file: dict[str, Any]) -> None:
        self.name = name
        self.objects = {one.get("name", one["url"]): one for one in file["objects"]}
        self.nodes = {one["name"]: one for one in file.get("compute", [])}
        self.root = next(iter(self.objects))
        self.before = cache(self._before)

    def of(self, path: str) -> list[str]:
        """Give the objects of a resource: one for each time that it is fetched."""
        where = url(self.name, path)
        return [name for name, one in self.objects.items() if one["url"] == where]

    def object(self, path: str) -> str:
        """Give the object of a resource that is fetched once."""
        found = self.of(path)
        assert found, f"{path} is not in the graph"
        return found[0]

    def path(self, name: str) -> str:
        """Give the resource of an object."""
        where = self.objects[name]["url"]
        host, _, rest = where.removeprefix("http://").partition("/")
        inner = rest.removeprefix(f"{self.name}/")
        return f"other/{inner}" if host.startswith("other.") else inner

    def needs(self, name: str) -> list[Edge]:
        one = self.objects.get(name) or self.nodes[name]
        if "needs" not in one:
            return [] if name == self.root else [Edge(self.root, "end", 0, 0.0, None)]
        return [Edge.of(need) for need in one["needs"]]

    def _before(self, name: str) -> Before:
        all_of = Before()
        for edge in self.needs(name):
            all_of.add(self.before(edge.node))
            all_of.edges.add(edge)
            if edge.node in self.nodes:
                all_of.begun.add(edge.node)
            elif edge.on == "end":
                all_of.ended.add(edge.node)
                all_of.add(Before(count={edge.node: self.objects[edge.node]["bytes"]}))
            else:
                all_of.add(Before(count={edge.node: edge.count if edge.on == "bytes" else 0}))
        return all_of

    def ended(self, name: str) -> set[str]:
        """Give the resources that must be complete."""
        return {self.path(one) for one in self.before(name).ended}

    def pieces(self, document: str) -> list[str]:
        """Give the nodes in which a document is parsed."""
        return [name for name in self.nodes if re.fullmatch(rf"parse \d+ of {re.escape(document)}", name)]

    def runs(self, document: str, kind: str) -> list[str]:
        """Give the nodes of inline scripts of a document, in its order; `kind` is `inline` or `module`."""
        which = re.compile(rf"run {kind}( \d+)? of {re.escape(document)}( #\d+)?")
        return [name for name in self.nodes if which.fullmatch(name)]

    def run(self, script: str) -> str | None:
        """Give the node in which an object runs, be it as what another one imports."""
        if (own := f"run {script}") in self.nodes:
            return own
        for name in self.nodes:
            if name.startswith("run ") and any(
                edge.node == script and edge.why in ("fetched", "import") for edge in self.needs(name)
            ):
                return name
        return None

    def chain(self, name: str) -> str:
        """Show what an activity waits for, for people."""
        lines = [f"{self._short(name)}:"]
        for edge in self.needs(name):
            timer = f", timer of {edge.timer_ms} ms" if edge.timer_ms else ""
            count = f" {edge.count}" if edge.on == "bytes" else ""
            lines.append(f"    {edge.on}{count} of {self._short(edge.node)} ({edge.why}{timer})")
        return "\n".join(lines)

    def story(self, name: str) -> str:
        """Show all that leads to an activity."""
        return "\n".join(self.chain(one) for one in [name, *self._all_before(name)])

    def _all_before(self, name: str) -> Iterator[str]:
        known, next_ones = {name}, [name]
        while next_ones:
            for edge in self.needs(next_ones.pop(0)):
                if edge.node not in known:
                    known.add(edge.node)
                    next_ones.append(edge.node)
                    yield edge.node

    def _short(self, name: str) -> str:
        return name.replace(url(self.name, ""), "").replace(url(self.name, "other/"), "other/")
