"""Why page C is slower over SPDY where nothing is lost: what makes ours so, and what the study has beyond."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from loadstone.reproduce.cablelabs import laboratory
from loadstone.reproduce.cablelabs.laboratory import BASE, BOTH, SPDY, STUDY, WIN7, Laboratory
from loadstone.reproduce.cablelabs.variations import NO_WORK, without
from loadstone.reproduce.results import Passage, Table
from loadstone.reproduce.study import Runner
from loadstone.sweep.matrix import Matrix

Place = tuple[int, int, int]
"""Servers, Mbit/s, round trip in ms."""

_NO_MEMORY = {"variant.tcp.mechanisms.metrics": False, "variant.earlier_loads": None}
_NO_HYSTART = {"variant.tcp.mechanisms.hystart": False}


@dataclass(frozen=True)
class Load:
    """A loss-free load of page C in ms: the study's, ours, and ours with something otherwise."""

    https: tuple[float, float]
    """The study's and ours."""
    spdy: tuple[float, float]
    ten: tuple[float, float]
    """Over SPDY with a window of ten."""
    no_work: float
    """Over SPDY, where the server's processor costs nothing."""
    long_start: float
    """Over SPDY, where neither HyStart nor a remembered threshold ends slow start."""

    @property
    def slower(self) -> tuple[float, float]:
        """Say by how much SPDY is slower: the study's and ours."""
        theirs, ours = (spdy - https for spdy, https in zip(self.spdy, self.https, strict=True))
        return theirs, ours

    @property
    def by_work(self) -> float:
        """Say what the processor makes of ours over SPDY."""
        return self.spdy[1] - self.no_work

    @property
    def by_start(self) -> float:
        """Say what the early end of slow start makes of it."""
        return self.spdy[1] - self.long_start

    @property
    def beyond(self) -> float:
        """Say by how much the study's SPDY takes longer than ours."""
        return self.spdy[0] - self.spdy[1]


def measure(found: Laboratory, runner: Runner) -> dict[Place, Load]:
    """Load it from one and two servers."""
    matrix = runner.matrix(STUDY, "matrix.toml")
    chosen = {**matrix.factors, "page": ["synthetic:C"], "servers": [1, 2], "loss": [0]}
    loads = replace(matrix, factors=chosen, variants={each: matrix.variants[each] for each in (BASE, SPDY)})
    # HTTPS needs no word: its servers have next to no work.
    no_work = _times(runner, without(loads, {}, NO_WORK))
    forgetful = without(loads, _NO_MEMORY, {})
    long_start = _times(runner, replace(forgetful, common={**forgetful.common, **_NO_HYSTART}))
    made = {}
    for pair in found.of(WIN7):
        page, servers, rate, rtt, loss = pair.condition.levels.values()
        place = (int(servers), int(rate), int(rtt))
        if page == "C" and not loss and place in no_work:
            https, spdy, ten = ((pair.theirs[each], pair.ours[each]) for each in (BASE, SPDY, BOTH))
            made[place] = Load(https, spdy, ten, no_work[place], long_start[place])
    return dict(sorted(made.items()))


def _times(runner: Runner, matrix: Matrix) -> dict[Place, float]:
    runs = laboratory.in_terms(runner.runs(matrix)).filter(pl.col("option") == SPDY)
    rows = runs.select("servers", "down_mbps", "rtt_ms", "plt_ms").iter_rows()
    return {(servers, rate, rtt): plt_ms for servers, rate, rtt, plt_ms in rows}


def passage(loads: dict[Place, Load]) -> Passage:
    """Say what makes it, and what does not."""
    near = [load for (servers, _, rtt), load in loads.items() if (servers, rtt) == (1, 20)]
    far = [load for (servers, _, rtt), load in loads.items() if (servers, rtt) == (1, 100)]
    two = [load for (servers, _, rtt), load in loads.items() if (servers, rtt) == (2, 100)]
    words = (
        f"From one server at 20 ms SPDY takes {_span(load.slower[0] for load in near)} longer than HTTPS in "
        f"the study, and {_span(load.slower[1] for load in near)} here. At 100 ms it takes "
        f"{_span(load.slower[0] for load in far)} longer there; here it takes "
        f"{_span(-load.slower[1] for load in far)} less.\n\n"
        "What there is of it here is the work of the server's processor, which frames and encrypts a "
        "megabyte in 0.5 s. The account has 1.5 s of it for three megabytes. But the link sends meanwhile, "
        "and where the processor costs nothing the transfer takes most of that time instead: SPDY is then "
        f"only {_span(load.by_work for load in near)} quicker at 20 ms, which is what turns the order "
        f"there, and {_span(load.by_work for load in far)} at 100 ms.\n\n"
        f"What the study has beyond stays unexplained: at 20 ms its SPDY takes "
        f"{_span(load.beyond for load in near)} longer than ours. It is no work that comes with the bytes, "
        f"since with a window of ten its SPDY takes {_span(load.spdy[0] - load.ten[0] for load in near)} "
        "less; and it is not that a window of three is small, which costs ours "
        f"{_span(load.spdy[1] - load.ten[1] for load in near)}.\n\n"
        f"From two servers at 100 ms SPDY takes {_span(load.slower[0] for load in two)} longer in the study "
        f"and {_span(load.slower[1] for load in two)} here. Here slow start ends early: the queue that one "
        "connection makes is delay to the other, by which HyStart ends its slow start, or the threshold that "
        "Linux remembers of an earlier load does. Where neither does, SPDY is "
        f"{_span(load.by_start for load in two)} quicker; without work of the processors "
        f"{_span(load.by_work for load in two)}."
    )
    return Passage("Why is page C slower over SPDY without loss?", words, [_table(loads)])


def _span(each: Iterable[float]) -> str:
    """Write least and greatest, in seconds."""
    ms = [*each]
    low, high = (f"{end / 1000:.2f}" for end in (min(ms), max(ms)))
    return f"{low} s" if low == high else f"{low} to {high} s"


def _table(loads: dict[Place, Load]) -> Table:
    rows = [
        [
            *(f"{level}" for level in place),
            *(f"{ms:,.0f}" for ms in (*load.https, *load.spdy, load.no_work, load.long_start)),
        ]
        for place, load in loads.items()
    ]
    head = [
        *("servers", "down_mbps", "rtt_ms"),
        *("HTTPS, study", "HTTPS, ours", "SPDY, study", "SPDY, ours"),
        *("without work of the processor", "with a slow start that nothing ends early"),
    ]
    return Table("page-c", "What makes page C slower over SPDY?", head, rows, 3, "In ms, windows of three.")
