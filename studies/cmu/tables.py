"""The tables of the study `cmu`, its figures beside ours."""

from collections.abc import Iterator

import polars as pl

from loadstone.reproduce.claims import rows
from loadstone.reproduce.evidence import AS_STATED
from loadstone.reproduce.study import Cell, Table

from .assumptions import AS_IT_IS, ASSUMPTIONS
from .claims import cost, gain, means, of_group, points
from .laboratory import CONDITIONS, FOLDER, LOSSES, Laboratory

SEEDS = 10
"""As many as the study has loads of each site under each condition."""

_COLUMNS = dict(zip(CONDITIONS, ("http", "https", "spdy"), strict=True))
_WORDS = {
    "all": "25 sites",
    "heaviest": "heaviest five",
    "lightest": "lightest five",
    "most_requests": "most requests",
    "fewest_requests": "fewest requests",
}


def cells(loads: pl.DataFrame) -> list[Cell]:
    """Give every site's figure as a cell. What is doubtful in the study's appendices counts for nothing."""
    ours = loads.group_by("site", "loss", "condition").agg(pl.col("plt_ms").mean())
    known = {(site, loss, condition): ms for site, loss, condition, ms in ours.iter_rows()}
    return [
        Cell(
            {"site": row["site"], "loss": row["loss"]},
            condition,
            float(row[column]),
            known[row["site"], row["loss"], condition],
            "ms",
            is_sound=not row["doubt"],
        )
        for row in rows(FOLDER / "published.csv")
        for condition, column in _COLUMNS.items()
    ]


def _theirs() -> Iterator[tuple[str, str, str, dict[str, float]]]:
    """Give the study's averages: number of the table, loss, sites, and a figure for each condition."""
    for row in rows(FOLDER / "averages.csv"):
        figures = {condition: float(row[column]) for condition, column in _COLUMNS.items()}
        yield row["table"], row["loss"], row["sites"], figures


def _ours(loads: pl.DataFrame, loss: str, group: str) -> pl.DataFrame:
    own = loads.filter(pl.col("loss") == loss)
    return own if group == "all" else of_group(own, group)


def averages(loads: pl.DataFrame) -> Table:
    """Show the mean times of tables 4, 6, 9, 11, 13 and 15."""
    lines = []
    for number, loss, group, theirs in _theirs():
        ours = means(_ours(loads, loss, group))
        figures = [f"{of[condition] / 1000:.2f} s" for condition in CONDITIONS for of in (theirs, ours)]
        lines.append([number, _WORDS[group], f"{loss} %", *figures])
    head = ["table", "sites", "loss", *(one for name in CONDITIONS for one in (f"{name}: study", "ours"))]
    note = f"Means over the sites, of 10 loads each in the study, under {SEEDS} seeds here."
    return Table("averages", "How long do the home pages take?", head, lines, 2, note)


def differences(loads: pl.DataFrame) -> Table:
    """Show the same in percent of HTTP straight: what the Flip server costs, and what SPDY gains."""
    lines = []
    for number, loss, group, theirs in _theirs():
        printed = pl.DataFrame({"condition": [*theirs], "plt_ms": [*theirs.values()]})
        ours = _ours(loads, loss, group)
        figures = [f"{figure(of):+.1f}" for figure in (cost, gain, points) for of in (printed, ours)]
        lines.append([number, _WORDS[group], f"{loss} %", *figures])
    head = ["table", "sites", "loss", "Flip costs: study", "ours", "SPDY for HTTP: study", "ours"]
    head += ["SPDY for HTTP, both through Flip: study", "ours"]
    note = (
        "In percent of HTTP straight. Costs are more time, gains are less. The last two columns are the "
        "sum of those before, in points of HTTP straight, as the study has them."
    )
    return Table(
        "differences", "What does the Flip server cost, and what does SPDY gain?", head, lines, 2, note
    )


def assumed(laboratory: Laboratory) -> Table:
    """Show the differences over all sites under each assumption."""
    lines = []
    for name in (AS_STATED, *ASSUMPTIONS):
        loads = laboratory.loads(SEEDS, name)
        each = [loads.filter(pl.col("loss") == loss) for loss in LOSSES]
        figures = [f"{figure(own):+.1f}" for own in each for figure in (cost, gain, points)]
        lines.append([name, f"{means(each[0])[CONDITIONS[0]] / 1000:.2f} s", *figures])
    head = ["", "HTTP, no loss", "no loss: Flip costs", "SPDY gains", "by Flip", "loss: Flip costs"]
    head += ["SPDY gains", "by Flip"]
    words = (
        f"HTML of {AS_IT_IS.html / 1000:g} KB, other objects alike and named in it, one name, a round trip"
    )
    note = (
        f"As stated: {words} of {AS_IT_IS.rtt_ms} ms, a queue of 50 packets, TLS 1.0 with False Start, "
        "Windows 7 and Linux 2.6. Each line changes what it names. In percent of HTTP straight, 25 sites; "
        "the study has +10.9, +2.8, +13.6 without loss and +14.8, -2.4, +12.3 with it."
    )
    return Table("assumptions", "How much does it depend on what is not known?", head, lines, 1, note)
