"""Rows: what a store keeps of each run, as an Arrow table."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from loadstone._native import Outcome
from loadstone.account import PARTS
from loadstone.analysis.question import Level
from loadstone.settings import OF_RUNS
from loadstone.stores.plan import Chunk, Planned

ACCOUNT = {part: f"{part}_ms" for part in PARTS}
"""The columns of the account, by its parts."""

_RENAMED = {"connections": "connections_opened"}
"""`connections` may be a factor: how many a host may have."""
_OF_THE_LOAD = {
    name: _RENAMED.get(name, name) for name in OF_RUNS if name not in ("seed", "plt_ms", "completed")
}
"""The columns of what an outcome has besides: counts and moments."""
_KINDS = {"integer": pa.int64(), "number": pa.float64()}
_LATE = {"paused_ms": "live_paused_ms", "late_p90_ms": "live_late_p90_ms"}
"""How the machine behaved under a live load: the columns of those of its conditions that are kept."""

COLUMNS = {
    "cell": pa.string(),
    "is_random": pa.bool_(),
    "seed": pa.uint64(),
    "completed": pa.bool_(),
    "plt_ms": pa.float64(),
    **{column: _KINDS[OF_RUNS[name].kind] for name, column in _OF_THE_LOAD.items()},
    **dict.fromkeys(ACCOUNT.values(), pa.float64()),
}
"""What there is of each run in addition to its factors. `plt_ms` and the account are null if the load was not
completed."""


def schema(levels: dict[str, tuple[Level, ...]], *, live: bool) -> pa.Schema:
    """Give the columns of a matrix's runs: the factors, then `COLUMNS`."""
    factors = {name: _kind(each) for name, each in levels.items()}
    conditions = dict.fromkeys(_LATE.values(), pa.float64()) if live else {}
    return pa.schema({**factors, **COLUMNS, **conditions})


def _kind(levels: Sequence[Level]) -> pa.DataType:
    if isinstance(levels[0], bool):
        return pa.bool_()
    if isinstance(levels[0], str):
        return pa.string()
    return pa.float64() if any(isinstance(level, float) for level in levels) else pa.int64()


def row(cell: Planned, outcome: Outcome) -> dict[str, Any]:
    """Give the row of a run."""
    parts = outcome.account()
    conditions = outcome.conditions() or {}
    return {
        **cell.levels,
        "cell": cell.digest,
        "is_random": cell.is_random,
        "seed": outcome.seed,
        "completed": outcome.completed,
        "plt_ms": outcome.plt_ms if outcome.completed else None,
        **{column: getattr(outcome, name) for name, column in _OF_THE_LOAD.items()},
        **{column: parts[part] if parts else None for part, column in ACCOUNT.items()},
        **{column: conditions[name] for name, column in _LATE.items() if name in conditions},
    }


def table(chunk: Chunk, rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Make a chunk's table of its rows."""
    return pa.Table.from_pylist(list(rows), schema(chunk.question.factors, live=chunk.question.live))


def of_today(chunk: pa.Table) -> pa.Table:
    """Give a chunk's table the columns that came after it was written, without values."""
    there = chunk.column_names
    for name, kind in COLUMNS.items():
        if name not in there:
            chunk = chunk.append_column(name, pa.nulls(chunk.num_rows, kind))
    late = [name for name in _LATE.values() if name in there]
    levels = [name for name in there if name not in COLUMNS and name not in late]
    return chunk.select([*levels, *COLUMNS, *late])
