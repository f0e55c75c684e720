"""The study's tables 5 to 11, ours beside its own, which follow from its 72 published rows."""

from collections.abc import Callable, Iterator

from loadstone.analysis.gain_tables import Case, Figures, cube, summary
from loadstone.analysis.gains import Gains
from loadstone.analysis.question import Level
from loadstone.reproduce.cablelabs.laboratory import KINDS, Laboratory
from loadstone.reproduce.results import Table

_BY = {
    "website": ("page", "servers"),
    "channel": ("loss_pct", "down_mbps", "rtt_ms"),
}


def gain_tables(found: Laboratory) -> Iterator[Table]:
    """Give tables 5 to 10: greatest, mean and least gain by website and by channel, option by option."""
    number = 5
    for option, kind in KINDS.items():
        for what, by in _BY.items():
            ours, theirs = (cube(own.of(option), by) for own in (found.ours, found.theirs))
            rows = [
                [*map(_level, row.levels), *_figures(theirs.at(*row.levels)), *_figures(row.figures)]
                for row in ours.rows
            ]
            head = [*by, *(f"{side} {each}" for side in ("study", "ours") for each in ("max", "mean", "min"))]
            subject = {"SPDY": "SPDY", "window": "a window of ten", "both": "SPDY with a window of ten"}[kind]
            title = f"Table {number}: what does {subject} gain, by {what}?"
            yield Table(f"table-{number}", title, head, rows, len(by))
            number += 1


def _level(level: Level | None) -> str:
    return "all" if level is None else f"{level}"


def _figures(figures: Figures | None) -> list[str]:
    if figures is None:
        return ["-"] * 3
    return [f"{each:.2f}" for each in (figures.max, figures.mean, figures.min)]


def summary_table(found: Laboratory) -> Table:
    """Give table 11: best, mean and worst gain, and in how many conditions there is one."""
    sides = {"study": found.theirs, "ours": found.ours}
    rows = []
    for option, kind in KINDS.items():
        for side, own in sides.items():
            of = summary(own.of(option))
            good = mean_gain(own, option, lambda at: at["page"] != "C" and at["loss_pct"] == 0)
            gains = [_case(of.best), f"{of.overall.mean:.2f}", _case(of.worst)]
            counts = [f"{of.at_least_1}", f"{of.at_least_2}"]
            rows.append([kind, side, *gains, *counts, f"{good:.2f}"])
    head = ["gain of", "", "best", "mean", "worst", "1 or more", "2 or more", "mean of A and B without loss"]
    note = "Conditions: page, servers, Mbit/s, round trip in ms, loss in %. Counts are of 72."
    return Table("table-11", "Table 11: best, mean and worst?", head, rows, 2, note)


def _case(case: Case) -> str:
    return f"{case.gain:.2f} ({'/'.join(f'{level}' for level in case.condition.values())})"


def mean_gain(own: Gains, option: str, where: Callable[[dict[str, Level]], bool]) -> float:
    """Give the mean gain of an option over the conditions that are meant."""
    frame = own.of(option).frame
    chosen: list[float] = [row["gain"] for row in frame.iter_rows(named=True) if where(row)]
    return sum(chosen) / len(chosen)
