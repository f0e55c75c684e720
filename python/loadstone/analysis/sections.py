"""What is shown of findings: words for gains and conditions, and a table under each question."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from loadstone import text
from loadstone.account import PARTS
from loadstone.analysis.findings import Finding, Findings
from loadstone.analysis.gain_tables import ALL, Cube, Figures, Summary
from loadstone.analysis.gains import LEAST_EFFECT, TOO_FEW
from loadstone.analysis.question import Level, Question, named, spelled

_MOST_COLUMNS = 5
_MOST_ROWS = 40
_MOST_LINES = 60
"""Of a longer table by several factors the beginning is shown."""
_ENDS = 15
"""Of a longer table by one factor, this many rows are shown from either end."""


@dataclass(frozen=True)
class Section:
    """A table under the question that it answers."""

    title: str
    rows: list[list[str]]
    """The first is the head."""
    left: int = 1
    """This many columns are words, the others figures."""
    note: str = ""


def overview(findings: Findings) -> Section:
    """Answer what came out, in the manner of table 11 of `cablelabs`: a column for each challenger."""
    question = findings.question
    rows = [["", *(challenger(question, finding.challenger) for finding in findings.each)]]
    columns = [_summary(finding) for finding in findings.each]
    for name in columns[0]:
        values = [column[name] for column in columns]
        rows += [[name, *values]] if any(value != "-" for value in values) else []
    baseline = challenger(question, question.baseline)
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
        "gain of 1 or more": of_all(found.at_least_1, count),
        "gain of 2 or more": of_all(found.at_least_2, count),
        "clearly faster": of_all(found.faster, count),
        "clearly slower": of_all(found.slower, count),
        ALIKE: of_all(found.alike, count) if found.alike else "-",
        "exactly as fast": of_all(found.equal, count),
        "undecided": of_all(found.undecided, count),
        "loads completed": of_all(completed, runs) if completed < runs else "-",
        "completed less often in": of_all(found.less_often, len(measured)) if found.less_often else "-",
        "completed more often in": of_all(found.more_often, len(measured)) if found.more_often else "-",
        "left out, too few completed": f"{found.too_few:,}" if found.too_few else "-",
    }


def of_challenger(findings: Findings, finding: Finding) -> Iterator[Section]:
    """Give the sections of one challenger."""
    question = findings.question
    who, base = (challenger(question, level) for level in (finding.challenger, question.baseline))
    if finding.ranking:
        is_first = finding is findings.each[0]
        yield replace(_dependence(who, base, finding), note=_DEPENDENCE if is_first else "")
    if finding.accounts is not None:
        yield _why(who, base, finding)
    for cube in finding.cubes:
        title = f"How much faster is {who} than {base}, by {listed(cube.by)}?"
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
        rows.append([each.factor, share(each.explained), share(each.by_luck), *ends])
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


# --- words for gains, levels and conditions ---


_ROOM = 32
ALIKE = f"alike within {100 * LEAST_EFFECT:g} %"
"""How gains are called that are known, and nearer to 1 than anyone cares."""


def shown(level: Level | None) -> str:
    """Write a level so that it fits into a table, as paths of pages do not; of a margin `all`."""
    return ALL if level is None else text.shorten(spelled(level), _ROOM)


def challenger(question: Question, level: Level) -> str:
    """Name a level of the compared factor, so that it fits into a table."""
    return text.shorten(named(question.compared, level), _ROOM)


def listed(words: Sequence[str], joint: str = "and") -> str:
    """Write `a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {joint} {words[-1]}"


def condition(levels: Mapping[str, Level]) -> str:
    """Write the levels that make a condition."""
    return ", ".join(f"{text.harmless(factor)} {shown(level)}" for factor, level in levels.items())


def gain(value: float | None) -> str:
    """Write a gain: two decimals, but four where two would say 1 of what is not."""
    if value is None:
        return "-"
    return f"{value:.4f}" if value != 1 and f"{value:.2f}" == "1.00" else f"{value:,.2f}"


def interval(low: float | None, high: float | None) -> str:
    """Write an interval; nothing if there is none."""
    return "" if low is None or high is None else f"{gain(low)} - {gain(high)}"


def share(part: float) -> str:
    """Write a share as a percentage."""
    return f"{100 * part:.0f} %"


def of_all(count: int, whole: int) -> str:
    """Write how many of all: `40 of 72 (56 %)`."""
    return f"{count:,} of {whole:,} ({share(count / whole)})"


def headline(question: Question, found: Summary) -> str:
    """Say in words what came out for a challenger."""
    who, base = (challenger(question, level) for level in (found.challenger, question.baseline))
    whole = found.overall
    if whole.conditions == 1:
        said = f"{who} is {gain(found.best.gain)} times as fast as {base}{_certainty(found)}."
    else:
        known = interval(whole.low, whole.high)
        certainty = f" (95 %: {known})" if known else ""
        said = (
            f"{who} is {gain(whole.geometric_mean)} times as fast as {base}{certainty} in the geometric mean "
            f"over {text.count(whole.conditions, 'condition')}: "
            f"from {gain(found.worst.gain)} with {condition(found.worst.condition)} "
            f"to {gain(found.best.gain)} with {condition(found.best.condition)}. {_counts(found)}"
        )
    return " ".join([said, *_loads(found)])


def _loads(found: Summary) -> Iterator[str]:
    """Say whether gains hide loads that were not completed."""
    often = [
        f"{word} often in {count:,}"
        for word, count in (("less", found.less_often), ("more", found.more_often))
        if count
    ]
    if often:
        yield f"Its loads were completed {listed(often)}."
    if found.too_few:
        more, verb = text.count(found.too_few, "more condition"), "is" if found.too_few == 1 else "are"
        yield f"{more} {verb} left out, since {TOO_FEW}."


def _certainty(found: Summary) -> str:
    """Say how sure the gain of the only condition is."""
    known = interval(found.best.low, found.best.high)
    said = f" (95 %: {known})" if known else ""
    return f"{said}, which chance alone may explain" if found.undecided else said


def _counts(found: Summary) -> str:
    whole = found.overall.conditions
    kinds = {
        "clearly faster": found.faster,
        "clearly slower": found.slower,
        ALIKE: found.alike,
        "exactly as fast": found.equal,
        "undecided": found.undecided,
    }
    said = [f"{kind} in {count:,}" for kind, count in kinds.items() if count]
    return f"It is {listed(said)} of {whole:,}."
