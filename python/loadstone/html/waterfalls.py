"""Waterfalls of a report, as data: the page's script draws them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone import text
from loadstone._native import Outcome
from loadstone.account import PARTS
from loadstone.html.strips import Scale, us
from loadstone.waterfall import sent_or_promised

_NAME_ROOM = 38
_KIND_ROOM = 12
_TIP_ROOM = 160

MARKS = ("found", "retried", "sent", "arrived", "answered", "first_byte", "last_byte")
"""What happens to an object; the engine's columns have `_ms` after these names."""


@dataclass(frozen=True)
class Objects:
    """A page's objects as they are shown, the same in all waterfalls of the page."""

    names: list[str]
    labels: list[str]
    hosts: list[str]
    kinds: list[str]
    sizes: list[str]

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> "Objects":
        """Take them from any waterfall of the page."""
        names = [text.harmless(name) for name in columns["name"]]
        return cls(
            [text.shorten(name, _TIP_ROOM) for name in names],
            [_label(name) for name in names],
            [text.shorten(_host(name), _NAME_ROOM) for name in names],
            [text.shorten(text.harmless(kind), _KIND_ROOM) for kind in columns["kind"]],
            [text.size(size) for size in columns["bytes"]],
        )


def _host(name: str) -> str:
    return name.split("://", 1)[-1].partition("/")[0] if "://" in name else ""


def _label(name: str) -> str:
    """Shorten a URL to what tells most: the host's beginning, the path's end."""
    label = name.split("://", 1)[-1]
    path, mark, _ = label.partition("?")
    return text.shorten(f"{path}?..." if mark and len(label) > _NAME_ROOM else label, _NAME_ROOM)


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
            mark: [None if ms is None else us(ms) for ms in columns[f"{mark}_ms"]]
            for mark in MARKS
            if f"{mark}_ms" in columns
        }
        last = max((end for end in marks["last_byte"] if end is not None), default=0)
        return cls(
            _about(run, outcomes),
            max(us(run.plt_ms), last),
            columns["connection"],
            marks,
            _path(run, columns),
        )

    def data(self, scale: Scale) -> dict[str, Any]:
        """Give what the page's script draws it from."""
        happened = {mark: times for mark, times in self.marks.items() if any(at is not None for at in times)}
        return {
            "about": self.about,
            "connection": self.connections,
            "marks": happened,
            "path": self.path,
            "step": scale.step,
            "labels": scale.labels,
        }


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
            us(begin),
            us(end),
        )
        for name, part, begin, end in rows
    ]
