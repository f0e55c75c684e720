"""Segments that were lost before they reached a client, by what came instead and when."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

_REORDERED = 0.9
"""What comes within this share of a round trip after what was sent behind it was overtaken, not lost."""
_FULL_SEGMENT = 1460
_MOST_GAPS = 10_000
"""As many gaps of a connection are followed at a time."""


@dataclass(frozen=True)
class LostSegment:
    """What certainly was lost: it came a round trip after what was sent behind it, or later."""

    segments: int
    """How many full segments it was, at least."""
    next_to: tuple[int, int]
    """The places of the packets before and behind it, among those that came down."""


@dataclass(slots=True)
class _Gap:
    start: int
    end: int
    since_ms: float
    next_to: tuple[int, int]


@dataclass
class _Sequence:
    """What of a connection's bytes has come."""

    highest: int | None = None
    place: int = 0
    gaps: list[_Gap] = field(default_factory=list)

    def add(self, start: int, end: int, at: float, place: int, patience_ms: float) -> list[LostSegment]:
        """Note bytes that have come: which of them had been lost."""
        lost = []
        if self.highest is None:
            self.highest = start
        if start < self.highest:
            lost = self._fill(start, end, at, patience_ms)
        elif start > self.highest and len(self.gaps) < _MOST_GAPS:
            self.gaps.append(_Gap(self.highest, start, at, (self.place, place)))
        if end > self.highest:
            self.highest, self.place = end, place
        return lost

    def _fill(self, start: int, end: int, at: float, patience_ms: float) -> list[LostSegment]:
        lost, left = [], []
        for gap in self.gaps:
            filled = min(end, gap.end) - max(start, gap.start)
            if filled <= 0:
                left.append(gap)
                continue
            if at - gap.since_ms >= patience_ms:
                lost.append(LostSegment(-(-filled // _FULL_SEGMENT), gap.next_to))
            left += [
                _Gap(low, high, gap.since_ms, gap.next_to)
                for low, high in ((gap.start, start), (end, gap.end))
                if low < high
            ]
        self.gaps = left
        return lost


def lost_segments(down: pl.DataFrame, nearest_ms: Mapping[int, float]) -> list[LostSegment]:
    """Give what was lost of packets that came down, in the order of time.

    `nearest_ms` is the least round trip of each connection; of others nothing is said. The end of what a
    server sends may be lost without a trace, until it is sent again: so many were lost at least.
    """
    sequences: dict[int, _Sequence] = {}
    lost: list[LostSegment] = []
    rows = down.select("connection", "at_ms", "seq", "bytes").iter_rows()
    for place, (connection, at, seq, size) in enumerate(rows):
        if size > 0 and (least := nearest_ms.get(connection)) is not None:
            known = sequences.setdefault(connection, _Sequence())
            lost += known.add(seq, seq + size, at, place, _REORDERED * least)
    return lost
