"""Waterfalls as text, from marks that are made up."""

import pytest

from loadstone import waterfall
from loadstone.typed import Waterfall


def columns(*rows: tuple[float | None, ...]) -> Waterfall:
    """Give the columns of objects with these marks: found, sent, first byte, last byte."""
    marks = list(zip(*rows, strict=True))
    return {
        "name": [f"https://a.test/{at}" for at in range(len(rows))],
        "kind": ["image"] * len(rows),
        "bytes": [1000] * len(rows),
        "connection": [None if row[1] is None else 0 for row in rows],
        "found_ms": list(marks[0]),
        "found_by": ["page"] * len(marks[0]),
        "retried_ms": [None] * len(rows),
        "sent_ms": list(marks[1]),
        "arrived_ms": list(marks[1]),
        "answered_ms": list(marks[1]),
        "first_byte_ms": list(marks[2]),
        "last_byte_ms": list(marks[3]),
    }


def bars(*rows: tuple[float | None, ...], end_ms: float = 100.0, width: int = 100) -> list[str]:
    """Draw, and give the bars alone: what stands below the axis."""
    head, *lines = waterfall.render(columns(*rows), end_ms, width).split("\n")[:-1]
    side = head.index("  0") + 2
    return [line[side:] for line in lines]


def share(bar: str, sign: str, width: int) -> float:
    return 100 * bar.count(sign) / width


def test_a_push_is_on_its_way_when_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waterfall, "_bars", lambda: ".-#")
    marks = columns((20.0, None, 50.0, 100.0))
    marks["found_by"] = ["push"]
    _, bar, _ = waterfall.render(marks, 100.0, 200).split("\n")
    assert "." not in bar.split("image")[1].split("100 ms")[1] and "---" in bar and "###" in bar


def test_spans_are_to_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waterfall, "_bars", lambda: ".-#")
    (bar,) = bars((0.0, 20.0, 50.0, 100.0), width=200)
    chart = len(bar)
    for sign, percent in [(".", 20), ("-", 30), ("#", 50)]:
        assert share(bar, sign, chart) == pytest.approx(percent, abs=200 / chart)
    assert bar == "".join(sorted(bar, key=".-#".index))


def test_what_arrives_at_once_is_still_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waterfall, "_bars", lambda: ".-#")
    at_once, at_the_end = bars((0.0, 0.0, 0.0, 0.0), (100.0, 100.0, 100.0, 100.0))
    assert at_once == "#"
    assert at_the_end.strip() == "#"


def test_what_has_not_happened_goes_on_to_the_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waterfall, "_bars", lambda: ".-#")
    never_found, never_sent, never_answered = bars(
        (None, None, None, None), (50.0, None, None, None), (0.0, 50.0, None, None)
    )
    assert never_found == ""
    assert set(never_sent.strip()) == {"."}
    assert never_answered.startswith(".") and never_answered.endswith("-")
    assert len(never_sent) == len(never_answered)


@pytest.mark.parametrize("width", [60, 80, 100, 180])
def test_lines_keep_to_the_width(width: int) -> None:
    wide = columns(*[(0.0, 1.0, 2.0, 100.0)] * 3)
    wide["name"] = ["https://a.test/" + "long/" * 60] * 3
    wide["kind"] = ["unheard-of-kind"] * 3
    lines = waterfall.render(wide, 100.0, width).split("\n")
    assert max(map(len, lines[:-1])) <= width
