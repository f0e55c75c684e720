"""Two states of a page: what was added, what is gone, what grew, and how much faster or slower it loads."""

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from loadstone import comparison, experiment, savings
from loadstone._native import Outcome
from loadstone.comparison import NetworkPlan, NetworkResult, PagePlan
from loadstone.experiment import Chosen
from loadstone.files import InputError
from loadstone.pages import Page

_GROWN = 0.01
"""Below this share, and below `_BYTES`, sizes are the same: recordings of one page differ by as much."""
_BYTES = 100


@dataclass(frozen=True)
class Resource:
    """An object as it is found again in another state of its page."""

    name: str
    kind: str
    bytes: int

    @property
    def place(self) -> str:
        """Give host and path: queries change from load to load."""
        url = urlsplit(self.name.split(" #")[0])
        return f"{url.netloc}{url.path}"


@dataclass(frozen=True)
class Difference:
    """What differs between two states of a page."""

    names: tuple[str, str]
    added: list[Resource]
    gone: list[Resource]
    changed: list[tuple[Resource, Resource]]
    """Whose sizes differ, before and after."""
    same: int
    """How many objects there are in both, as large as before."""
    networks: list[NetworkResult]
    """The first variant is the page before, the second the page after."""


def difference(
    before: Page,
    after: Page,
    networks: Sequence[str],
    chosen: Chosen,
    runs: int | None,
    threads: int | None,
    progress: Callable[[int, int], None],
) -> Difference:
    """Load both under the same seeds on each network, and compare their objects."""
    names = _told_apart(before.name, after.name)
    shown = zip(experiment.shown_networks(networks), networks, strict=True)
    plans = []
    for name, network in shown:
        cells = {
            side: experiment.cell(page, savings.settings(page, {**chosen, "network": network}))
            for side, page in zip(names, (before, after), strict=True)
        }
        plans.append(NetworkPlan(name, cells))
    plan = PagePlan(after.name, None, plans)
    (result,) = comparison.carry_out([plan], runs, threads, progress)
    first, second = (_resources(variant.outcomes[0]) for variant in result.networks[0].variants)
    pairs, gone, added = _matched(first, second)
    changed = [(one, other) for one, other in pairs if _differ(one.bytes, other.bytes)]
    return Difference(names, added, gone, changed, len(pairs) - len(changed), result.networks)


def _told_apart(before: str, after: str) -> tuple[str, str]:
    if before == after:
        raise InputError(f"{before}: the same page twice: give the page before, and the page after")
    return before, after


def _resources(outcome: Outcome) -> list[Resource]:
    """Give the objects of a page that was loaded."""
    shown = outcome.waterfall()
    rows = zip(shown["name"], shown["kind"], shown["bytes"], strict=True)
    return [Resource(name, kind, size) for name, kind, size in rows]


def _differ(one: int, other: int) -> bool:
    return abs(one - other) > max(_BYTES, _GROWN * max(one, other))


def _matched(
    before: list[Resource], after: list[Resource]
) -> tuple[list[tuple[Resource, Resource]], list[Resource], list[Resource]]:
    """Pair objects of the same URL, then of the same host and path, in order; give what is left of both."""
    pairs: list[tuple[Resource, Resource]] = []
    for key in (operator.attrgetter("name"), operator.attrgetter("place")):
        waiting: defaultdict[str, list[Resource]] = defaultdict(list)
        for one in before:
            waiting[key(one)].append(one)
        found = [(waiting[key(other)].pop(0), other) for other in after if waiting[key(other)]]
        pairs += found
        before = _without(before, (one for one, _ in found))
        after = _without(after, (other for _, other in found))
    return pairs, before, after


def _without(resources: list[Resource], taken: Iterator[Resource]) -> list[Resource]:
    ids = {id(one) for one in taken}
    return [one for one in resources if id(one) not in ids]
