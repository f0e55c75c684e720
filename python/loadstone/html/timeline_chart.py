"""How TCP fared on one connection over time: congestion window, round trip and queue, as lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from loadstone import text
from loadstone.html import strips
from loadstone.html.strips import Scale

_POINTS = 200
"""More samples than a screen can show are thinned: of each stretch of time the greatest is kept."""
_WIDTH, _HEIGHT = 1000, 100


@dataclass(frozen=True)
class Line:
    """One value over time."""

    label: str
    most: str
    """The value at the upper edge, with its unit."""
    drawing: Markup


@dataclass(frozen=True)
class TimelineChart:
    """The lines of a connection on one time axis."""

    about: str
    lines: list[Line]
    axis: Markup


def chart(timeline: dict[str, Any], run: str, end_ms: float) -> TimelineChart:
    """Draw the lines of a run's connection, until the load was over."""
    scale = Scale.to(strips.us(end_ms))
    lines = [
        _line("Congestion window", timeline["cwnd"], "segments", scale),
        _line("Round trip", timeline["rtt_ms"], "ms", scale),
        _line("Queue", timeline["queue_ms"], "ms", scale),
    ]
    about = f"Connection {timeline['connection']} to {text.harmless(timeline['host'])}, {run}"
    return TimelineChart(about, [line for line in lines if line is not None], strips.axis(scale))


def _line(label: str, samples: Sequence[tuple[float, float]], unit: str, scale: Scale) -> Line | None:
    if not samples:
        return None
    most = max(value for _, value in samples) or 1.0
    points = [
        f"{_WIDTH * strips.us(ms) / scale.end:.1f} {_HEIGHT * (1 - value / most):.1f}"
        for ms, value in _thinned(samples, scale)
    ]
    shown = f"{most:,.0f} {unit}"
    drawing = Markup(
        '<svg class="line" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<path d="M{}"></path></svg>'
    ).format(_WIDTH, _HEIGHT, f"{label} over time, at most {shown}", "L".join(points))
    return Line(label, shown, drawing)


def _thinned(samples: Sequence[tuple[float, float]], scale: Scale) -> list[tuple[float, float]]:
    """Keep of each stretch of time the greatest value, at its moment."""
    greatest: dict[int, tuple[float, float]] = {}
    for ms, value in samples:
        at = strips.us(ms) * _POINTS // scale.end
        if at not in greatest or value > greatest[at][1]:
            greatest[at] = (ms, value)
    return [greatest[at] for at in sorted(greatest)]
