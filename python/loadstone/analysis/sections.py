"""What is shown of findings, as sections: a question, and the table that answers it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from loadstone import text
from loadstone.account import PARTS
from loadstone.analysis import words
from loadstone.analysis.cube import Cube, Figures
from loadstone.analysis.findings import Finding, Findings
from loadstone.analysis.levels import named
from loadstone.analysis.question import Level
from loadstone.analysis.words import gain, interval, shown

_MOST_COLUMNS = 5
_MOST_ROWS = 40
_MOST_LINES = 60
"""Of a longer table by several factors the beginning is shown."""
_ENDS = 15
"""Of a longer table by one factor, so many rows are shown from either end."""


@dataclass(frozen=True)
class Section:
    """A table under the question that it answers."""

    title: str
    rows: list[list[str]]
    """The first is the head."""
    left: int = 1
    """So many columns are words, the others figures."""
    note: str = ""


def overview(findings: Findings) -> Section:
    """Answer what came out, in the manner of table 11 of `cablelabs`: a column for each challenger."""
    question = findings.question
    rows = [["", *(words.challenger(question, finding.challenger) for finding in findings.each)]]
    columns = [_summary(finding) for finding in findings.each]
    for name in columns[0]:
        values = [column[name] for column in columns]
        rows += [[name, *values]] if any(value != "-" for value in values) else []
    baseline = words.challenger(question, question.baseline)
    return Section(f"How much faster than {baseline} is it, and how often?", rows)


def _summary(finding: Finding) -> dict[str, str]:
    found, whole = finding.summary, finding.summary.overall
    count, measured = whole.conditions, finding.gains.measured
    completed, runs = (int(measured[f"variant_{what}"].sum()) for what in ("completed", "runs"))
    return {
        "geometric mean gain": gain(whole.geometric_mean),
        "its 95 % interval": interval(whole.low, whole.high) or "-",
        "best gain": gain(found.best.gain),
        "mean gain": gain(whole.mean),
        "worst gain": gain(found.worst.gain),
        "conditions": f"{count:,}",
        "gain of 1 or more": words.of_all(found.at_least_1, count),
        "gain of 2 or more": words.of_all(found.at_least_2, count),
        "clearly faster": words.of_all(found.faster, count),
        "clearly slower": words.of_all(found.slower, count),
        words.ALIKE: words.of_all(found.alike, count) if found.alike else "-",
        "exactly as fast": words.of_all(found.equal, count),
        "undecided": words.of_all(found.undecided, count),
        "loads completed": words.of_all(completed, runs) if completed < runs else "-",
        "completed less often in": words.of_all(found.less_often, len(measured)) if found.less_often else "-",
        "completed more often in": words.of_all(found.more_often, len(measured)) if found.more_often else "-",
        "left out, too few completed": f"{found.too_few:,}" if found.too_few else "-",
    }


def of_challenger(findings: Findings, finding: Finding) -> Iterator[Section]:
    """Give the sections of one challenger."""
    question = findings.question
    who, base = (words.challenger(question, level) for level in (finding.challenger, question.baseline))
    if finding.ranking:
        is_first = finding is findings.each[0]
        yield replace(_dependence(who, base, finding), note=_DEPENDENCE if is_first else "")
    if finding.accounts is not None:
        yield _why(who, base, finding)
    for cube in finding.cubes:
        title = f"How much faster is {who} than {base}, by {words.listed(cube.by)}?"
        yield _grid(title, cube) if len(cube.by) == 2 and _fits(cube) else _list(title, cube)


_DEPENDENCE = (
    "Explains: the share of the variance of ln(gain) that the factor explains by itself (eta squared). By "
    "luck: what a factor with as many levels explains if it has nothing to do with it. The rest are "
    "combinations of factors, and chance. Means are geometric."
)


def _dependence(who: str, base: str, finding: Finding) -> Section:
    rows = [["factor", "explains", "by luck", "mean gain from", "to"]]
    for each in finding.ranking:
        ends = [f"{gain(mean)} ({shown(level)})" for level, mean in (each.lowest, each.highest)]
        rows.append([each.factor, words.share(each.explained), words.share(each.by_luck), *ends])
    return Section(f"What does it depend on how much faster {who} is than {base}?", rows)


def _why(who: str, base: str, finding: Finding) -> Section:
    found = finding.accounts
    assert found is not None
    rows = [["mean over conditions", base, who, "saved"]]
    for key, part in PARTS.items():
        if found.baseline[key] or found.variant[key]:
            rows.append([part.label, *_times(found.baseline[key], found.variant[key])])
    rows.append(["Page load time", *_times(sum(found.baseline.values()), sum(found.variant.values()))])
    note = (
        f"In ms, over {text.count(found.conditions, 'condition')}; what is lost is below 0. In ms slow "
        "conditions weigh more than in gains."
    )
    return Section(f"Where does {who} save time, and where does it lose some?", rows, note=note)


def _times(baseline: float, variant: float) -> list[str]:
    return [f"{baseline:,.1f}", f"{variant:,.1f}", f"{baseline - variant + 0.0:+,.1f}"]


def _fits(cube: Cube) -> bool:
    return min(len(cube.levels(name)) for name in cube.by) <= _MOST_COLUMNS


def _grid(title: str, cube: Cube) -> Section:
    """Write a table of rows and columns; whichever factor has fewer levels makes the columns."""
    down, across = sorted(cube.by, key=lambda name: -len(cube.levels(name)))
    is_turned = (down, across) != cube.by
    corner = f"{down} \\ {across}"
    rows = [[corner, *(shown(level) for level in cube.levels(across))]]
    for level in cube.levels(down):
        keys = [(level, other) for other in cube.levels(across)]
        rows.append([shown(level), *(_cell(cube, key[::-1] if is_turned else key) for key in keys)])
    return Section(title, rows, note="Each field: the greatest gain, the geometric mean, the least.")


def _cell(cube: Cube, key: tuple[Level | None, ...]) -> str:
    figures = cube.at(*key)
    return "-" if figures is None else " ".join(map(gain, (figures.max, figures.geometric_mean, figures.min)))


def _list(title: str, cube: Cube) -> Section:
    lines = [([shown(level) for level in row.levels], row.figures) for row in cube.rows]
    note = ""
    if len(cube.by) == 1 and len(lines) > _MOST_ROWS:
        *levels, margin = lines
        ranked = sorted(levels, key=lambda line: -line[1].geometric_mean)
        ends = f"The {_ENDS} with the greatest and the {_ENDS} with the least geometric mean"
        note = f"{ends}, of {len(levels):,}; `-o` writes all to tables.csv."
        lines = [*ranked[:_ENDS], *ranked[-_ENDS:], margin]
    elif len(lines) > _MOST_LINES:
        note = f"The first {_MOST_LINES} rows of {len(lines):,}, and the last; `-o` writes all to tables.csv."
        lines = [*lines[:_MOST_LINES], lines[-1]]
    has_interval = any(figures.low is not None for _, figures in lines)
    head = [*cube.by, "conditions", "max", "mean", "min", "geometric", *(["95 %"] if has_interval else [])]
    rows = [[*levels, *_figures(figures, has_interval=has_interval)] for levels, figures in lines]
    return Section(title, [head, *rows], left=len(cube.by), note=note)


def _figures(figures: Figures, *, has_interval: bool) -> list[str]:
    known = [interval(figures.low, figures.high) or "-"] if has_interval else []
    each = (figures.max, figures.mean, figures.min, figures.geometric_mean)
    return [f"{figures.conditions:,}", *map(gain, each), *known]


def left_out(findings: Findings) -> Section | None:
    """Say which conditions have no gain or none that counts, and why."""
    holes = findings.gains.left_out
    if not len(holes):
        return None
    compared = findings.question.compared
    counted = holes.group_by(compared, "why", maintain_order=True).len()
    rows = [["", "why", "conditions"]]
    for level, why, count in counted.iter_rows():
        rows.append([named(compared, level), why, f"{count:,}"])
    return Section("Which conditions are left out, and why?", rows, left=2)


def factors(findings: Findings) -> Section:
    """Say what was varied."""
    question = findings.question
    rows = [["factor", "levels", ""]]
    for name, levels in question.factors.items():
        role = f"compared, against {shown(question.baseline)}" if name == question.compared else ""
        rows.append([name, _few([shown(level) for level in levels]), role])
    return Section("What was varied?", rows, left=3)


def _few(levels: Sequence[str]) -> str:
    written = ", ".join(levels)
    if len(written) <= 60:
        return written
    return f"{text.shorten(levels[0], 25)} ... {text.shorten(levels[-1], 25)} ({len(levels):,})"
