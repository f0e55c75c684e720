"""How long packets waited for a link before they came to a client, and whether its queue was full."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from loadstone.captures.missing_segments import LostSegment

FULL_PACKET = 1500
"""Bytes of a full packet on the link."""
_STANDING = 3
"""What waits for longer than so many full packets take came right behind another one."""
_BUSY_SHARE = 0.5
"""A link from which nothing comes for more than this share of a wait is not what was waited for."""
_LEAST_STANDING = 10
"""As many packets that waited tell a rate."""
_COARSE_MS = 1.0
"""Clocks of timestamps tick so often, or more often."""
_LEAST_LOSSES = 3
_FULL_WITHIN = 1.5
_FULL_SHARE = 0.1
"""What waited as long as the longest, but for so many packets or this share, found the queue full."""
_SIGNIFICANT = 3.0
"""More losses there than chance makes it, by so many standard deviations, are those of a full queue."""
_LONGEST = 0.99
"""The quantile that is taken for the longest wait."""


def waits(down: pl.DataFrame, nearest: Mapping[int, float]) -> dict[int, float]:
    """Give by place of a packet how long it waited: by how much its echo took longer than a round trip.

    What a sender sends after a pause says nothing: it may have had nothing to send before. While a packet
    waits others come: if none came for most of that time, it waited for something else than the link.
    """
    found: dict[int, float] = {}
    before: dict[int, float] = {}
    after_pause: dict[int, float] = {}
    last = float("-inf")
    rows = down.select("connection", "at_ms", "bytes", "echo_ms").iter_rows()
    for place, (connection, at, size, echo) in enumerate(rows):
        gap, last = at - last, at
        if size == 0 or (least := nearest.get(connection)) is None:
            continue
        pause = at - before.get(connection, float("-inf"))
        before[connection] = at
        if echo is None:
            continue
        # Packets that answer one acknowledgement are one burst.
        answered = at - echo
        if pause > least / 2:
            after_pause[connection] = answered
        if abs(after_pause.get(connection, float("-inf")) - answered) > 1e-3:
            waited = echo - least
            found[place] = waited if gap <= _BUSY_SHARE * waited else 0.0
    return found


def rate_of_waiting(
    down: pl.DataFrame, came: pl.Series, waiting: Mapping[int, float], busiest_bps: int
) -> int | None:
    """Give the rate at which those packets came that had waited: each right behind another one."""
    least_ms = 8e3 * _STANDING * FULL_PACKET / busiest_bps + _COARSE_MS
    gaps, sizes = down["at_ms"].diff().to_list(), came.to_list()
    waited = [place for place, ms in waiting.items() if ms >= least_ms and place > 0]
    took = sum(gaps[place] for place in waited)
    if len(waited) < _LEAST_STANDING or took <= 0:
        return None
    sent: int = sum(sizes[place] for place in waited)
    return int(8e3 * sent / took)


def longest(of: Iterable[float]) -> float | None:
    """Give the longest wait but for a few that chance made longer."""
    ordered = sorted(of)
    return ordered[min(len(ordered) - 1, int(_LONGEST * len(ordered)))] if ordered else None


@dataclass(frozen=True)
class FullQueue:
    """Whether a queue was full when something was lost."""

    is_full: bool
    at_random: float | None
    """What was lost otherwise, in packets; `None` where it is not known how long packets waited."""

    @classmethod
    def of(
        cls,
        waiting: Mapping[int, float],
        lost: Sequence[LostSegment],
        most_ms: float | None,
        packet_ms: float,
    ) -> "FullQueue":
        """Tell it by how long the packets next to losses waited.

        Chance loses what waited long as often as anything else; a full queue only what comes when it is full.
        """
        if most_ms is None:
            return cls(is_full=False, at_random=None)
        losses = sum(each.segments for each in lost)
        long = most_ms - max(_FULL_WITHIN * packet_ms, _FULL_SHARE * most_ms)
        share = sum(ms >= long for ms in waiting.values()) / len(waiting)
        waited_long, judged = 0, 0
        for each in lost:
            next_to = [waiting[place] for place in each.next_to if place in waiting]
            is_long = any(ms >= long for ms in next_to)
            waited_long += each.segments if is_long else 0
            judged += each.segments if is_long or len(next_to) == len(each.next_to) else 0
        by_chance = share * judged
        excess = waited_long - by_chance
        is_full = (
            waited_long >= _LEAST_LOSSES
            and most_ms >= _STANDING * packet_ms
            and excess >= _SIGNIFICANT * (by_chance * (1 - share)) ** 0.5
        )
        if not is_full:
            return cls(is_full=False, at_random=float(losses))
        # What chance lost while the queue was long looks as if the queue had dropped it.
        rest = (judged - waited_long) / (1 - share) if share < 1 else 0.0
        return cls(is_full=True, at_random=losses * min(1.0, rest / judged))
