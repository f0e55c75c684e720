"""What the study does not say of networks and TCP, and what each other assumption changes: a table."""

from dataclasses import replace

import numpy as np
import polars as pl

from loadstone.analysis.question import spelled
from loadstone.reproduce.study import Runner, Table
from loadstone.stores.matrix import Matrix, Settings

from .laboratory import HTTP, SPDY, TCP_PLUS, Levels, compared, medians, middle, sweep
from .otherwise import NETWORKS

# --- each assumption against another ---

_PAGE = "synthetic:objects={objects},size={size},scheme=http"
_NETWORK = "{rate}mbit,{rtt}ms,"
_OTHERWISE: dict[str, Settings] = {
    "as the sweep has it": {},
    **NETWORKS,
    "queue of 100 ms": {"network": _NETWORK + "loss={loss}%,queue=100ms"},
    "a page's first object first": {"page": _PAGE},
    "windows of streams of 64 KB": {"variant.multiplexing.stream_window": 65_536},
    "TCP of Linux 6": {"tcp": "linux-6"},
}
"""What is set instead of what `synthetic.toml` says."""
_PART: Levels = {
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
    lossy = cells.filter(pl.col("loss") > 0)
    again = [f"{middle(lossy.filter(variant=name)['again']):.1%}" for name in (HTTP, SPDY, TCP_PLUS)]
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
