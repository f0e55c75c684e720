"""Bars and marks along a time axis, as SVG whose places are percents, so that one drawing fits every width.

Marks have no styles of their own, which the page's security policy refuses. What they say on hover and focus
is in `data-tip`. Times are whole microseconds, so that the page's script counts alike.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from loadstone import text
from loadstone.account import PARTS, Account

MOST_MARKS = 200
"""More runs are shown as a hundred marks, each of which stands for a hundredth of them."""

_MOST_STEPS = 6
_THINNEST = 15
"""The least width of a bar, in hundredths of a percent of the whole."""
_ROOM_FOR_FIGURE = 0.1
"""What part of a phone's width a figure needs."""


@dataclass(frozen=True)
class Scale:
    """A time axis that begins at 0: some steps of equal length."""

    step: int
    steps: int

    @classmethod
    def to(cls, end: int) -> "Scale":
        """Choose round steps that reach `end`."""
        candidates = (digit * 10**power for power in range(3, 12) for digit in (1, 2, 5))
        step = next(step for step in candidates if step * _MOST_STEPS >= end)
        return cls(step, max(1, -(-end // step)))

    @property
    def end(self) -> int:
        """Give the time at the right edge."""
        return self.step * self.steps

    @property
    def labels(self) -> list[str]:
        """Name the steps, from 0 on; the last with its unit."""
        unit, size = ("s", 1_000_000) if self.end >= 2_000_000 else ("ms", 1000)
        return [
            "0",
            *(_plain(k * self.step / size) for k in range(1, self.steps)),
            f"{_plain(self.end / size)} {unit}",
        ]


def us(ms: float) -> int:
    """Give milliseconds in microseconds."""
    return round(ms * 1000)


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"


def _extent(begin: int, end: int, scale: Scale) -> Markup:
    left = min(begin * 10_000 // scale.end, 10_000 - _THINNEST)
    width = max(_THINNEST, min(end, scale.end) * 10_000 // scale.end - left)
    return Markup('x="{}%" width="{}%"').format(f"{left / 100:g}", f"{width / 100:g}")


def _percent(place: int, scale: Scale) -> str:
    return f"{place * 10_000 // scale.end / 100:g}%"


def axis(scale: Scale) -> Markup:
    """Draw the steps of a scale."""
    anchors = ["start", *["middle"] * (scale.steps - 1), "end"]
    labels = Markup("").join(
        Markup('<text x="{}" y="11" text-anchor="{}">{}</text>').format(
            _percent(k * scale.step, scale), anchor, label
        )
        for k, (anchor, label) in enumerate(zip(anchors, scale.labels, strict=True))
    )
    return Markup('<svg class="axis" role="img" aria-label="Time">{}</svg>').format(labels)


def account(name: str, spent: Account, scale: Scale, row: int) -> Markup:
    """Draw an account as a bar of its parts, the large ones with their figures above."""
    figures, bars = Markup(""), Markup("")
    begin, total = 0, sum(spent.values())
    for part, words in PARTS.items():
        if spent[part] <= 0:
            continue
        end = begin + us(spent[part])
        if end - begin >= _ROOM_FOR_FIGURE * scale.end:
            place = _percent((begin + end) // 2, scale)
            figures += Markup('<text x="{}" y="10" text-anchor="middle">{}</text>').format(
                place, f"{spent[part]:,.0f}"
            )
        share = f"{100 * spent[part] / total:.0f} % of {text.ms(total)}"
        tip = f"{name}\n{words.label}: {text.ms(spent[part])}\n{share}"
        bars += Markup('<rect class="{}" {} role="img" data-row="{}" data-tip="{}"></rect>').format(
            part.replace("_", "-"), _extent(begin, end, scale), row, tip
        )
        begin = end
    return Markup('<svg class="parts"><g aria-hidden="true">{}</g><g class="bars">{}</g></svg>').format(
        figures, bars
    )


def runs(name: str, times: Sequence[tuple[int, float]], scale: Scale, row: int) -> Markup:
    """Draw a mark for every run, given as seed and milliseconds, on a box for the middle half of them."""
    if len(times) < 2:
        return Markup("")
    plts = [ms for _, ms in times]
    low, _, high = statistics.quantiles(plts, n=4, method="inclusive")
    tip = (
        f"{name}\nmedian {text.ms(statistics.median(plts))} of {text.count(len(plts), 'run')}\n"
        f"middle half {text.ms(low)} to {text.ms(high)}\n"
        f"all {text.ms(min(plts))} to {text.ms(max(plts))}"
    )
    marks = Markup('<rect class="middle" {} role="img" data-row="{}" data-tip="{}"></rect>').format(
        _extent(us(low), us(high), scale), row, tip
    )
    for ms, said in _marks(name, times):
        marks += Markup('<rect class="run" x="{}" role="img" data-row="{}" data-tip="{}"></rect>').format(
            _percent(us(ms), scale), row, said
        )
    return Markup('<svg class="runs">{}</svg>').format(marks)


def _marks(name: str, times: Sequence[tuple[int, float]]) -> Iterator[tuple[float, str]]:
    """Give the marks from left to right, and what each says."""
    ordered = sorted(times, key=lambda run: run[::-1])
    if len(ordered) <= MOST_MARKS:
        yield from ((ms, f"{name}, seed {seed}\n{text.ms(ms)}") for seed, ms in ordered)
        return
    for k in range(100):
        ms = ordered[(2 * k + 1) * len(ordered) // 200][1]
        share = f"{k + 0.5:.1f} % of {text.count(len(ordered), 'run')}"
        yield ms, f"{name}\n{share} took no more than {text.ms(ms)}"
