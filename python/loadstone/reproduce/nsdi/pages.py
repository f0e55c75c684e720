"""What is done to pages: objects alone or of equal sizes, other hosts, other computing, priorities."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from loadstone.reproduce.nsdi.corpus import Page

Change = Callable[[Page], Page]
"""Makes another page of a page."""

_SECOND_LEVEL = {"ac", "co", "com", "edu", "gov", "net", "org"}
"""Labels under which countries register."""
_URGENCY = {"html": 0, "css": 1, "js": 1}
_REST = 3


def objects_alone(page: Page) -> Page:
    """Keep the objects only: all from one server, all asked for at once, no computing."""
    kept = [
        {"url": f"http://server.test/{at}", "bytes": one["bytes"], "needs": []}
        for at, one in enumerate(page["objects"])
    ]
    return {"objects": kept}


def of_equal_sizes(page: Page) -> Page:
    """Make the objects of a set equal, their number and sum kept."""
    alone = objects_alone(page)
    count, total = len(alone["objects"]), sum(one["bytes"] for one in alone["objects"])
    for at, one in enumerate(alone["objects"]):
        one["bytes"] = total * (at + 1) // count - total * at // count
    return alone


def on_one_host(page: Page) -> Page:
    """Put all objects on one host; what waits for what stays."""
    return _rehosted(page, lambda _: "server.test")


def by_registrable_domain(page: Page) -> Page:
    """Put the objects of `a.site.test` and `b.site.test` on one host."""
    return _rehosted(page, registrable)


def registrable(host: str) -> str:
    """Give the part of a host's name that one registers, as far as it can be told without a list."""
    labels = host.split(".")
    parts = 3 if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL else 2
    return ".".join(labels[-parts:])


def with_computing(factor: float) -> Change:
    """Give what makes computing take so many times as long, on one host."""

    def change(page: Page) -> Page:
        made = on_one_host(page)
        for node in made.get("compute", []):
            node["ms"] *= factor
        for activity in [*made["objects"], *made.get("compute", [])]:
            for need in activity.get("needs") or []:
                need["ms"] = need.get("ms", 0.0) * factor
        return made

    return change


def without_priorities(page: Page) -> Page:
    """Let every object be as urgent as any other."""
    return _prioritised(page, lambda _: _REST)


def prioritised_by_kind(page: Page) -> Page:
    """Let markup be more urgent than styles and scripts, and these than the rest, as Chrome has it."""
    return _prioritised(page, lambda one: _URGENCY.get(one.get("kind", ""), _REST))


def prioritised_by_dependency(page: Page) -> Page:
    """Let an object be the more urgent the longer the chain of those that wait for it."""
    chains = _chains(page)
    longest = max(chains.values())
    return _prioritised(page, lambda one: min(7, longest - chains[_name(one)]))


def _prioritised(page: Page, urgency: Callable[[dict[str, Any]], int]) -> Page:
    made = on_one_host(page)
    for before, one in zip(page["objects"], made["objects"], strict=True):
        one["urgency"] = urgency(before)
    return made


def _chains(page: Page) -> Mapping[str, int]:
    """Say of every node how many others wait one for another behind it."""
    nodes = [*page["objects"], *page.get("compute", [])]
    root = _name(page["objects"][0])
    behind: dict[str, list[str]] = {}
    for node in nodes[1:]:
        for need in [{"node": root}] if node.get("needs") is None else node["needs"]:
            behind.setdefault(need["node"], []).append(_name(node))
    chains: dict[str, int] = {}
    # A node is done when all that wait for it are: a stack, since chains may be longer than Python's.
    todo = [_name(node) for node in nodes]
    while todo:
        name = todo[-1]
        if missing := [other for other in behind.get(name, []) if other not in chains]:
            todo += missing
            continue
        chains[todo.pop()] = 1 + max((chains[other] for other in behind.get(name, [])), default=0)
    return chains


def _rehosted(page: Page, host: Callable[[str], str]) -> Page:
    made = copy.deepcopy(page)
    made.pop("hosts", None)
    for at, one in enumerate(made["objects"]):
        # What waits for it still calls it what it was called.
        one["name"] = _name(one)
        one["url"] = f"http://{host(_host(one['url']))}/{at}"
        for field in ("request_fields", "response_fields", "request_header_bytes", "think_ms"):
            one.pop(field, None)
    return made


def _host(url: str) -> str:
    return url.split("/")[2].split(":")[0]


def _name(node: dict[str, Any]) -> str:
    return str(node.get("name") or node["url"])
