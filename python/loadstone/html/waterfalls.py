"""Waterfalls of a report: a table with a row per object, and the same as data for the page's script.

The page has the waterfalls of the best variant and of the baseline ready; its script makes the others from
the data, by the rules that stand here. A test compares the two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from loadstone import text
from loadstone._native import Outcome
from loadstone.account import PARTS
from loadstone.waterfall import sent_or_promised

_NAME_ROOM = 34
_KIND_ROOM = 12
_TIP_ROOM = 320
_MOST_STEPS = 5
_THINNEST = 15
"""The least width of a bar, in hundredths of a percent of the whole."""

MARKS = ("found", "retried", "sent", "arrived", "answered", "first_byte", "last_byte")
"""What happens to an object; the engine's columns have `_ms` after these names."""

CRITICAL = "\N{BLACK DIAMOND}"
_CRITICAL_ROW = ' class="critical"'


@dataclass(frozen=True)
class Objects:
    """A page's objects as they are shown, the same in all waterfalls of the page."""

    names: list[str]
    labels: list[str]
    kinds: list[str]
    sizes: list[str]

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> "Objects":
        """Take them from any waterfall of the page."""
        names = [text.harmless(name) for name in columns["name"]]
        return cls(
            [text.shorten(name, _TIP_ROOM) for name in names],
            [_label(name) for name in names],
            [text.shorten(text.harmless(kind), _KIND_ROOM) for kind in columns["kind"]],
            [text.size(size) for size in columns["bytes"]],
        )


def _label(name: str) -> str:
    """Shorten a URL to what tells most: the host's beginning, the path's end."""
    label = name.split("://", 1)[-1]
    path, mark, _ = label.partition("?")
    return text.shorten(f"{path}?..." if mark and len(label) > _NAME_ROOM else label, _NAME_ROOM)


@dataclass(frozen=True)
class Scale:
    """The time axis: some steps of equal length. Times are microseconds, so that the script counts alike."""

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


@dataclass(frozen=True)
class Waterfall:
    """One run, times in microseconds."""

    about: str
    end: int
    connections: list[int | None]
    marks: dict[str, list[int | None]]
    path: list[tuple[int | str, int, int, int]]
    """What the load waited for: object or name, part, from, to."""

    @classmethod
    def of(cls, run: Outcome, outcomes: Sequence[Outcome]) -> "Waterfall":
        """Show one of these runs."""
        columns: Mapping[str, Any] = run.waterfall()
        columns = {**columns, "sent_ms": sent_or_promised(columns)}
        marks = {
            mark: [None if ms is None else _us(ms) for ms in columns[f"{mark}_ms"]]
            for mark in MARKS
            if f"{mark}_ms" in columns
        }
        last = max((us for us in marks["last_byte"] if us is not None), default=0)
        return cls(
            _about(run, outcomes),
            max(_us(run.plt_ms), last),
            columns["connection"],
            marks,
            _path(run, columns),
        )

    @property
    def critical(self) -> set[int]:
        """Say which objects the load waited for."""
        return {place for place, *_ in self.path if isinstance(place, int)}

    def data(self) -> dict[str, Any]:
        """Give what the page's script draws it from."""
        happened = {mark: times for mark, times in self.marks.items() if any(us is not None for us in times)}
        return {"about": self.about, "connection": self.connections, "marks": happened, "path": self.path}


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"


def _us(ms: float) -> int:
    return round(ms * 1000)


def _about(run: Outcome, outcomes: Sequence[Outcome]) -> str:
    completed = sum(outcome.completed for outcome in outcomes)
    if not run.completed:
        return f"Seed {run.seed}: not completed, given up after {text.ms(run.plt_ms)}."
    if len(outcomes) == 1:
        return f"Loaded after {text.ms(run.plt_ms)}."
    which = "the median run" if completed % 2 else "one of the two runs around the median"
    return f"Seed {run.seed}, loaded after {text.ms(run.plt_ms)}: {which} of {completed}."


def _path(run: Outcome, columns: Mapping[str, Any]) -> list[tuple[int | str, int, int, int]]:
    if not run.completed:
        return []
    places = {name: at for at, name in enumerate(columns["name"])}
    parts = list(PARTS)
    path = run.path()
    rows = zip(path["name"], path["part"], path["from_ms"], path["to_ms"], strict=True)
    return [
        (
            places.get(name, text.shorten(text.harmless(name), _NAME_ROOM)),
            parts.index(part),
            _us(begin),
            _us(end),
        )
        for name, part, begin, end in rows
    ]


def clock(us: int | None) -> str:
    """Write a time as `text.ms` does."""
    if us is None:
        return "-"
    tenths = (us + 50) // 100
    return f"{(us + 500) // 1000:,} ms" if us >= 100_000 else f"{tenths // 10}.{tenths % 10} ms"


# --- the table ---


def table(waterfall: Waterfall, objects: Objects, scale: Scale) -> Markup:
    """Draw the table of a waterfall."""
    rows = "".join(_row(waterfall, objects, scale, at) for at in range(len(objects.names)))
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("Object", "Kind", "Size", "Conn.", "Done"))
    return Markup(
        f'<table class="fall steps-{scale.steps}"><thead><tr>{heads}<th scope="col">{_axis(scale)}</th></tr>'
        f"{_ribbon(waterfall, objects, scale)}</thead><tbody>{rows}</tbody></table>"
    )


def _axis(scale: Scale) -> str:
    anchors = ["start", *["middle"] * (scale.steps - 1), "end"]
    labels = "".join(
        f'<text x="{_percent(k * scale.step, scale)}" y="11" text-anchor="{anchor}">{label}</text>'
        for k, (anchor, label) in enumerate(zip(anchors, scale.labels, strict=True))
    )
    return f'<svg class="axis" role="img" aria-label="Time">{labels}</svg>'


def _ribbon(waterfall: Waterfall, objects: Objects, scale: Scale) -> str:
    if not waterfall.path:
        return ""
    spans = "".join(_span(span, objects, scale) for span in waterfall.path)
    label = "What the load waited for"
    return (
        f'<tr class="path"><th scope="row" colspan="5">{label}</th>'
        f'<td><svg class="ribbon" role="group" aria-label="{label}">{spans}</svg></td></tr>'
    )


def _span(span: tuple[int | str, int, int, int], objects: Objects, scale: Scale) -> str:
    place, part, begin, end = span
    name, words = list(PARTS.items())[part]
    what = objects.labels[place] if isinstance(place, int) else place
    tip = f"{words.label}: {clock(end - begin)}\n{what}\n{clock(begin)} to {clock(end)}"
    kind = name.replace("_", "-")
    return f'<rect class="{kind}" {_extent(begin, end, scale)} data-tip="{escape(tip)}"></rect>'


def _row(waterfall: Waterfall, objects: Objects, scale: Scale, at: int) -> str:
    is_critical = at in waterfall.critical
    connection = waterfall.connections[at]
    cells = [
        objects.kinds[at],
        objects.sizes[at],
        "-" if connection is None else str(connection),
        clock(waterfall.marks["last_byte"][at]),
    ]
    times = {mark: column[at] for mark, column in waterfall.marks.items()}
    bars = "".join(
        f'<rect class="{kind}" {_extent(begin, end, scale)}></rect>'
        for kind, begin, end in _segments(times, scale.end)
    )
    name = f"{CRITICAL} {objects.labels[at]}" if is_critical else objects.labels[at]
    return (
        f"<tr{_CRITICAL_ROW if is_critical else ''}>"
        f'<th scope="row"><bdi>{escape(name)}</bdi></th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + f"<td><svg>{bars}</svg></td></tr>"
    )


def _segments(times: Mapping[str, int | None], edge: int) -> list[tuple[str, int, int]]:
    """Give the spans between the marks; one that has not ended goes on to the edge."""
    stages = [("wait", "found", "sent"), ("ask", "sent", "first_byte"), ("get", "first_byte", "last_byte")]
    if times.get("arrived") is not None and times.get("answered") is not None:
        stages[1:2] = [
            ("ask", "sent", "arrived"),
            ("think", "arrived", "answered"),
            ("ask", "answered", "first_byte"),
        ]
    segments: list[tuple[str, int, int]] = []
    for kind, first, second in stages:
        begin, end = times.get(first), times.get(second)
        if begin is None:
            break
        if end is None or end > begin or kind == "get":
            segments.append((kind, begin, edge if end is None else end))
        if end is None:
            break
    return segments


def _extent(begin: int, end: int, scale: Scale) -> str:
    left = min(begin * 10_000 // scale.end, 10_000 - _THINNEST)
    width = max(_THINNEST, min(end, scale.end) * 10_000 // scale.end - left)
    return f'x="{left / 100:g}%" width="{width / 100:g}%"'


def _percent(us: int, scale: Scale) -> str:
    return f"{us * 10_000 // scale.end / 100:g}%"
