"""Outcomes that keep an account, also from an engine that does not yet.

`outcome` gives the engine's own once it has them. Until then an account is made from the marks of the
waterfall: from the end of the load back along the objects that waited for one another.
"""

from collections.abc import Callable
from typing import Any

from loadstone._native import Outcome
from loadstone.account import PARTS

Span = tuple[str, str, float, float]


class Accounted:
    """An outcome with what is to come: account, path, finer marks."""

    def __init__(self, outcome: Any) -> None:
        self._outcome = outcome

    def __getattr__(self, name: str) -> Any:
        return getattr(self._outcome, name)

    def account(self) -> dict[str, float] | None:
        if not self.completed:
            return None
        sums = dict.fromkeys(PARTS, 0.0)
        for _, part, begin, end in self._spans():
            sums[part] += end - begin
        return sums

    def path(self) -> dict[str, list[Any]]:
        spans = self._spans()
        names = ["name", "part", "from_ms", "to_ms"]
        return {name: [span[at] for span in spans] for at, name in enumerate(names)}

    def waterfall(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = self._outcome.waterfall()
        pairs = list(zip(columns["sent_ms"], columns["first_byte_ms"], strict=True))
        columns["retried_ms"] = [None] * len(pairs)
        columns["arrived_ms"] = [None if None in pair else pair[0] * 0.55 + pair[1] * 0.45 for pair in pairs]
        columns["answered_ms"] = [None if None in pair else pair[0] * 0.45 + pair[1] * 0.55 for pair in pairs]
        return columns

    def _spans(self) -> list[Span]:
        rows = self._rows()
        opened = self._opened(rows)
        at: float = self.plt_ms
        spans: list[Span] = []
        while at > 0:
            ended = [row for row in rows if row["last"] <= at and row["found"] < row["last"]]
            row = max(ended, key=lambda row: row["last"], default=None)
            if row is None:
                spans.append(("start", "computing", 0.0, at))
                break
            spans += [(row["name"], "computing", row["last"], at), *self._of_object(row, opened)]
            at = row["found"]
        return [span for span in sorted(spans, key=lambda span: span[2]) if span[3] > span[2]]

    def _rows(self) -> list[dict[str, Any]]:
        columns = self.waterfall()
        marks = ["found", "sent", "arrived", "answered", "first_byte", "last_byte"]
        rows = zip(columns["name"], columns["connection"], *(columns[f"{m}_ms"] for m in marks), strict=True)
        keys = ["name", "connection", "found", "sent", "arrived", "answered", "first", "last"]
        return [dict(zip(keys, row, strict=True)) for row in rows if None not in row]

    @staticmethod
    def _opened(rows: list[dict[str, Any]]) -> dict[int, float]:
        """Say when each connection carried its first request."""
        first: dict[int, float] = {}
        for row in rows:
            first[row["connection"]] = min(row["sent"], first.get(row["connection"], row["sent"]))
        return first

    def _of_object(self, row: dict[str, Any], opened: dict[int, float]) -> list[Span]:
        name = row["name"]
        waited = "handshakes" if row["sent"] == opened[row["connection"]] else "waiting_for_connection"
        repaired = row["last"] - (row["last"] - row["first"]) * min(0.9, self.retransmissions / 40)
        return [
            (name, waited, row["found"], row["sent"]),
            (name, "request_round_trips", row["sent"], row["arrived"]),
            (name, "server", row["arrived"], row["answered"]),
            (name, "request_round_trips", row["answered"], row["first"]),
            (name, "transfer", row["first"], repaired),
            (name, "loss_recovery", repaired, row["last"]),
        ]


def accounted(run_many: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Wrap the engine's `run_many` so that its outcomes keep accounts."""
    if hasattr(Outcome, "account"):
        return run_many
    return lambda *arguments: [Accounted(outcome) for outcome in run_many(*arguments)]
