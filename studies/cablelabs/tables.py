"""The study's tables compared with ours, and how near ours comes: errors and ranks of gains."""

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from loadstone.analysis.gain_tables import Case, Figures, cube, summary
from loadstone.analysis.gains import Gains
from loadstone.analysis.question import Level
from loadstone.reproduce.study import Cell, Table

from .laboratory import FACTORS, KINDS, SPDY, WIN7, WINXP, Laboratory, Pair

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


_SHOWN = ("max", "mean", "min")


def gain_cells(found: Laboratory) -> Iterator[Cell]:
    """Give the figures of tables 5 to 11 as cells; a level that stands for all of a factor is `all`.

    The study's are credible where none of their conditions has loss and several servers.
    """
    for option in KINDS:
        known: set[tuple[Level, ...]] = set()
        for by in _BY.values():
            ours, theirs = (cube(own.of(option), by) for own in (found.ours, found.theirs))
            for row in ours.rows:
                own = dict(zip(by, row.levels, strict=True))
                levels = {name: _or_all(own.get(name)) for name in FACTORS}
                if (place := tuple(levels.values())) in known:
                    continue
                known.add(place)
                is_sound = levels["servers"] == 1 or levels["loss_pct"] == 0
                published = theirs.at(*row.levels)
                for name in _SHOWN:
                    figures = [getattr(each, name) if each else None for each in (published, row.figures)]
                    yield _cell(levels, f"{option}: {name} gain", figures, "gain", is_sound)
        yield from _counts(found, option)


def _counts(found: Laboratory, option: str) -> Iterator[Cell]:
    everywhere: dict[str, Level] = dict.fromkeys(FACTORS, "all")
    sides = [summary(own.of(option)) for own in (found.theirs, found.ours)]
    counts = {"1": [side.at_least_1 for side in sides], "2": [side.at_least_2 for side in sides]}
    for bound, each in counts.items():
        yield _cell(everywhere, f"{option}: gain of {bound} or more", each, "conditions", is_sound=False)
    good = [mean_gain(own, option, _is_good) for own in (found.theirs, found.ours)]
    levels = {**everywhere, "page": "A and B", "loss_pct": 0}
    yield _cell(levels, f"{option}: mean gain", good, "gain", is_sound=True)


def _or_all(level: Level | None) -> Level:
    return "all" if level is None else level


def _cell(
    levels: dict[str, Level], variant: str, figures: Sequence[float | None], unit: str, is_sound: bool
) -> Cell:
    theirs, ours = (None if figure is None else round(figure, 3) for figure in figures)
    return Cell({**levels, "client": WIN7}, variant, theirs, ours, unit, is_sound)


def _is_good(at: dict[str, Level]) -> bool:
    return at["page"] != "C" and at["loss_pct"] == 0


def summary_table(found: Laboratory) -> Table:
    """Give table 11: best, mean and worst gain, and in how many conditions there is one."""
    sides = {"study": found.theirs, "ours": found.ours}
    rows = []
    for option, kind in KINDS.items():
        for side, own in sides.items():
            of = summary(own.of(option))
            good = mean_gain(own, option, _is_good)
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


# --- how near ours comes, compared with a prediction that knows nothing of networks ---

ERROR, RANK, TIME_ERROR = 0.15, 0.6, 0.25
"""What is near enough: median |ln ours - ln theirs| of gains, their rank correlation, the same of times."""
PAGES = ("A", "B", "C")


@dataclass(frozen=True)
class Score:
    """How near some predictions of gains come."""

    error: float
    """The median of |ln predicted - ln published|."""
    rank: float | None
    """Spearman's; `None` where all predictions are the same."""

    @classmethod
    def of(cls, published: Sequence[float], predicted: Sequence[float]) -> "Score":
        """Hold predictions against what was published."""
        errors = [abs(math.log(ours / theirs)) for theirs, ours in zip(published, predicted, strict=True)]
        return cls(statistics.median(errors), _rank_correlation(published, predicted))

    def __str__(self) -> str:
        """Write error and rank."""
        return f"{self.error:.2f}, {'-' if self.rank is None else f'{self.rank:.2f}'}"

    @property
    def is_near(self) -> bool:
        """Say whether it is near enough."""
        return self.error <= ERROR and self.rank is not None and self.rank >= RANK


def _rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    frame = pl.DataFrame({"one": one, "other": other})
    found: float = frame.select(pl.corr("one", "other", method="spearman")).item()
    return None if math.isnan(found) else found


def pairs_of(found: Laboratory, page: str, option: str) -> list[Pair]:
    """Give the credible pairs of a page that have an option: Windows XP was asked about SPDY alone."""
    asked = [*found.sound(WIN7), *(found.sound(WINXP) if option == SPDY else [])]
    return [pair for pair in asked if pair.condition.page == page]


def score(pairs: Sequence[Pair], option: str) -> Score:
    """Score our gains."""
    both = [pair.gains(option) for pair in pairs]
    return Score.of([theirs for theirs, _ in both], [ours for _, ours in both])


def by_page_and_loss(pairs: Sequence[Pair], option: str) -> Score:
    """Score the mean of the published gains with the same loss: what can be said without any model."""
    theirs = [(pair.condition.loss_pct, pair.gains(option)[0]) for pair in pairs]
    means = {loss: statistics.mean(gain for each, gain in theirs if each == loss) for loss, _ in theirs}
    return Score.of([gain for _, gain in theirs], [means[loss] for loss, _ in theirs])


def of_times(pairs: Sequence[Pair]) -> float:
    """Score our load times: the median of |ln ours - ln theirs|."""
    return statistics.median(
        abs(math.log(pair.ours[option] / theirs)) for pair in pairs for option, theirs in pair.theirs.items()
    )


def between_systems(found: Laboratory) -> Score:
    """Score the study against itself: SPDY's gains on Windows 7 as predictions of those on Windows XP."""
    xp = {_place(pair): pair.gains(SPDY)[0] for pair in found.of(WINXP)}
    common = [(xp[_place(pair)], pair.gains(SPDY)[0]) for pair in found.sound(WIN7) if _place(pair) in xp]
    return Score.of([theirs for theirs, _ in common], [ours for _, ours in common])


def _place(pair: Pair) -> tuple[object, ...]:
    return tuple(pair.condition.levels.values())


def table(found: Laboratory) -> Table:
    """Show the scores, page by page and kind by kind."""
    rows = []
    for option, kind in KINDS.items():
        for page in PAGES:
            pairs = pairs_of(found, page, option)
            ours = score(pairs, option)
            ones = Score.of([pair.gains(option)[0] for pair in pairs], [1.0] * len(pairs))
            near = "yes" if ours.is_near else "no"
            shown = [ours, ones, by_page_and_loss(pairs, option)]
            rows.append([kind, page, f"{len(pairs)}", *map(str, shown), near])
    systems = between_systems(found)
    times = [f"{of_times(found.sound(client)):.2f} on {client}" for client in (WIN7, WINXP)]
    note = (
        "Each score is the median of |ln predicted - ln published| over the credible rows, and the rank "
        f"correlation. Near is at most {ERROR} and at least {RANK}. 'Always 1' and the published means by "
        "page and loss know nothing of networks; the means have seen what they predict. The study's own "
        f"Windows 7 as a prediction of its Windows XP: {systems}. Load times: {', '.join(times)}."
    )
    head = ["gain of", "page", "rows", "ours", "always 1", "by page and loss", "near"]
    return Table("scores", "How near do our gains come to the study's?", head, rows, 2, note)


def halves(found: Laboratory) -> Table:
    """Show the scores at 10 Mbit/s, where constants were set, and at 20 Mbit/s, where they are judged."""
    rows = []
    for page in PAGES:
        cells = []
        for option in KINDS:
            for rate in (10, 20):
                pairs = [pair for pair in pairs_of(found, page, option) if pair.condition.down_mbps == rate]
                cells.append(str(score(pairs, option)))
        rows.append([page, *cells])
    head = ["page", *(f"{kind}, {rate} Mbit/s" for kind in KINDS.values() for rate in (10, 20))]
    note = "Error and rank correlation as above."
    return Table("halves", "And where no constant was set?", head, rows, 1, note)
