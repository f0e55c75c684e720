"""Two states of a page: what was added, what is gone, what grew, and how much faster or slower it loads.

Each state is a page, or several recorded sessions of it. Sessions differ by more than the runs of one: so
the interval is theirs.
"""

import operator
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from loadstone import comparison, experiment, names, pages, savings, stats
from loadstone._native import Outcome
from loadstone.comparison import NetworkPlan, NetworkResult, PagePlan, VariantResult
from loadstone.experiment import Chosen
from loadstone.files import InputError
from loadstone.pages import ONLOAD, Page

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
class State:
    """A page before or after."""

    name: str
    """As it was given."""
    sessions: list[Page]
    """One, or several that were recorded."""


@dataclass(frozen=True)
class NetworkDifference:
    """Both states on one network."""

    result: NetworkResult
    """Every session is a variant, those before first."""
    sessions_before: int

    @property
    def sides(self) -> tuple[list[VariantResult], list[VariantResult]]:
        """Give the sessions before and after of which some run was completed."""
        own, count = self.result.variants, self.sessions_before
        before, after = ([one for one in side if one.completed] for side in (own[:count], own[count:]))
        return before, after

    @property
    def medians_ms(self) -> tuple[float | None, float | None]:
        """Give the geometric means of the sessions' medians, before and after."""
        before, after = (_median_ms(side) for side in self.sides)
        return before, after

    @property
    def gain(self) -> stats.Gain | None:
        """Say how much faster it is after: of two pages seed by seed, of sessions by their medians."""
        if len(self.result.variants) == 2:
            return self.result.variants[1].gain
        before, after = ([one.median_plt_ms or 0.0 for one in side] for side in self.sides)
        return stats.Gain.of_sessions(before, after)

    @property
    def longer_ms(self) -> dict[str, float] | None:
        """Say by how much each part of the account is longer after, in the mean of the sessions."""
        accounts = [[one.compared.account for one in side if one.compared.account] for side in self.sides]
        before, after = accounts
        if not before or not after:
            return None
        return {
            part: statistics.mean(one[part] for one in after) - statistics.mean(one[part] for one in before)
            for part in before[0]
        }


def _median_ms(sessions: Sequence[VariantResult]) -> float | None:
    return statistics.geometric_mean([one.median_plt_ms or 0.0 for one in sessions]) if sessions else None


@dataclass(frozen=True)
class Difference:
    """What differs between two states of a page."""

    states: tuple[State, State]
    added: list[Resource]
    gone: list[Resource]
    changed: list[tuple[Resource, Resource]]
    """Whose sizes differ, before and after."""
    same: int
    """How many objects there are in both, as large as before."""
    networks: list[NetworkDifference]


def states(
    before: str, after: str, *, keep_secrets: bool = False, metric: str = ONLOAD
) -> tuple[State, State]:
    """Read both states: a page each, or several sessions, as a folder or `FILE.har#all` has them."""
    read = [pages.read_all([name], keep_secrets=keep_secrets, metric=metric) for name in (before, after)]
    sources = [{page.source for page in side} for side in read]
    if twice := sources[0] & sources[1]:
        raise InputError(f"{min(twice)}: the same page twice: give the page before, and the page after")
    shown = iter(names.shown([page.source for side in read for page in side]))
    sides = ([replace(page, name=next(shown)) for page in side] for side in read)
    first, second = map(State, names.shown([before, after]), sides)
    return first, second


def difference(
    before: State,
    after: State,
    networks: Sequence[str],
    chosen: Chosen,
    runs: int | None,
    threads: int | None,
    progress: Callable[[int, int], None],
) -> Difference:
    """Load both under the same seeds on each network, and compare their objects."""
    sessions = [*before.sessions, *after.sessions]
    shown = zip(experiment.shown_networks(networks), networks, strict=True)
    plans = []
    for name, network in shown:
        cells = {
            page.name: experiment.cell(page, savings.settings(page, {**chosen, "network": network}))
            for page in sessions
        }
        plans.append(NetworkPlan(name, cells))
    plan = PagePlan(after.name, None, plans)
    (result,) = comparison.carry_out([plan], runs, threads, progress)
    loaded = [_resources(variant.outcomes[0]) for variant in result.networks[0].variants]
    count = len(before.sessions)
    pairs, gone, added = _matched(_usual(loaded[:count]), _usual(loaded[count:]))
    changed = [(one, other) for one, other in pairs if _differ(one.bytes, other.bytes)]
    compared = [NetworkDifference(network, count) for network in result.networks]
    return Difference((before, after), added, gone, changed, len(pairs) - len(changed), compared)


def _resources(outcome: Outcome) -> list[Resource]:
    """Give the objects of a page that was loaded."""
    shown = outcome.waterfall()
    rows = zip(shown["name"], shown["kind"], shown["bytes"], strict=True)
    return [Resource(name, kind, size) for name, kind, size in rows]


def _usual(sessions: Sequence[list[Resource]]) -> list[Resource]:
    """Give what more than half of the sessions have, each as large as in the median."""
    if len(sessions) == 1:
        return sessions[0]
    found: defaultdict[tuple[str, int], list[Resource]] = defaultdict(list)
    for session in sessions:
        seen: Counter[str] = Counter()
        for one in session:
            # Several of one place are told apart by their order.
            found[one.place, seen[one.place]].append(one)
            seen[one.place] += 1
    return [
        replace(alike[0], bytes=round(statistics.median(one.bytes for one in alike)))
        for alike in found.values()
        if 2 * len(alike) > len(sessions)
    ]


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
