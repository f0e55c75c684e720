"""How the study was set up: what is the same here, what it does not say, and what that changes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from loadstone.analysis.question import Level, spelled
from loadstone.reproduce.claims import Claims
from loadstone.reproduce.study import Runner, Table
from loadstone.stores.matrix import Matrix, Settings

from .laboratory import FLOWS, HTTP, SPDY, TCP_PLUS, compared, medians, sweep
from .synthetic import Synthetic, retransmitted

_SAME = {
    "NS16": "4,096 bytes",
    "NS21": "profile linux-3.7 (CUBIC), SPDY/3, no TLS; server programs do not think",
    "NS22": "10 segments",
    "NS23": "6",
    "NS24": "5 runs, median",
    "NS54": f"{FLOWS} times",
    "NS55": f"{FLOWS} times",
    "NS56": f"a {FLOWS}th of the reduction",
}
_GONE = "Twitter's page of 2013 is not at hand"
_EMULATOR = (
    "it is about the study's own emulator; here a page, a network and a seed give the same bytes every time"
)
_UNTESTABLE = {
    "NS17": _GONE,
    "NS18": _GONE,
    "NS19": _GONE,
    "NS20": _GONE,
    "NS60": _EMULATOR,
    "NS61": _EMULATOR,
}


def judge_setup(swept: Synthetic, pages: int, claims: Claims) -> None:
    """Say of the set-up what is the same here, and what cannot be."""
    for claim, ours in _SAME.items():
        claims.same(claim, ours)
    claims.same("NS25", "from the first SYN to the last byte")
    claims.not_testable(
        "NS26",
        "the pages of 2013 are not at hand; those made here stand for them",
        f"{pages} pages of a stated distribution, all objects from one server",
    )
    combinations = len(swept.ratios("SPDY"))
    claims.number("NS27", combinations, "every combination of its table 1 was run", digits=0)
    for claim, why in _UNTESTABLE.items():
        claims.not_testable(claim, why)


# --- each assumption against another ---

_PAGE = "synthetic:objects={objects},size={size},scheme=http"
_NETWORK = "{rate}mbit,{rtt}ms,"
_OTHERWISE: dict[str, Settings] = {
    "as the sweep has it": {},
    "queue of 20 packets": {"network": _NETWORK + "loss={loss}%,queue=20p"},
    "queue of 100 packets": {"network": _NETWORK + "loss={loss}%,queue=100p"},
    "queue of 100 ms": {"network": _NETWORK + "loss={loss}%,queue=100ms"},
    "loss on the way down alone": {"network": _NETWORK + "loss={loss}%/0%,queue=50p"},
    "a page's first object first": {"page": _PAGE},
    "windows of streams of 64 KB": {"variant.multiplexing.stream_window": 65_536},
    "TCP without HyStart": {"variant.tcp.mechanisms.hystart": False},
    "TCP of Linux 6": {"tcp": "linux-6"},
}
"""What is set instead of what `synthetic.toml` says."""
_PART: Mapping[str, Sequence[Level]] = {
    "iw": [3, 10, 32],
    "size": ["1KB", "10KB", "100KB"],
    "objects": [8, 64],
}
"""The part of the sweep on which they are compared."""
_HEAD = [
    "instead",
    "little loss: SPDY better",
    "HTTP better",
    "much loss: SPDY better",
    "HTTP better",
    "good network, window 3",
    "window 32",
    "figure 3(a), 2 %",
    "sent again: HTTP",
    "SPDY",
    "TCP+",
]


def table(runner: Runner, runs: int) -> Table:
    """Run a part of the sweep under each assumption."""
    rows = [[words, *_row(runner, settings, runs)] for words, settings in _OTHERWISE.items()]
    note = (
        f"Windows of {_words('iw')}, objects of {_words('size')}, {_words('objects')} of them; all networks. "
        "Better: by 10 % at least; little loss is below 1 %. A good network has 20 ms, 10 Mbit/s, no loss: "
        "the median ratio of SPDY's time to HTTP's for fewer than 64 objects. Sent again: median share of "
        "packets."
    )
    return Table("assumptions", "How much depends on what is assumed?", _HEAD, rows, 1, note)


def _words(factor: str) -> str:
    return ", ".join(map(spelled, _PART[factor]))


def _row(runner: Runner, settings: Settings, runs: int) -> list[str]:
    cells = _cells(runner, settings, runs)
    ratios = compared(cells, {"variant": SPDY}, {"variant": HTTP})
    shares = [
        f"{float(np.mean(is_better)):.0%}"
        for part in (ratios.filter(pl.col("loss") < 1), ratios.filter(pl.col("loss") >= 1))
        for is_better in (part["ratio"].to_numpy() < 0.9, part["ratio"].to_numpy() > 1.1)
    ]
    good = ratios.filter(
        pl.col("objects") < 64, pl.col("rtt") == 20, pl.col("rate") == 10, pl.col("loss") == 0
    )
    windows = [f"{float(np.median(good.filter(iw=iw)['ratio'].to_numpy())):.2f}" for iw in (3, 32)]
    again = [f"{float(np.median(retransmitted(cells, name))):.1%}" for name in (HTTP, SPDY, TCP_PLUS)]
    return [*shares, *windows, f"{_worst(ratios):.2f}", *again]


def _worst(ratios: pl.DataFrame) -> float:
    """Give the ratio at the highest loss of figure 3(a)."""
    at = {**sweep().question.around, "loss": 2}
    return float(ratios.filter(*(pl.col(name) == level for name, level in at.items()))["ratio"][0])


def _cells(runner: Runner, settings: Settings, runs: int) -> pl.DataFrame:
    whole = sweep()
    part: Matrix = replace(
        whole, factors={**whole.factors, **_PART}, common={**whole.common, **settings}, runs=runs, analysis={}
    )
    return medians(runner.runs(part), [*part.levels])
