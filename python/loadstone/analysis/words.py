"""Words for gains, levels and conditions."""

from collections.abc import Iterator, Mapping, Sequence

from loadstone import text
from loadstone.analysis.cube import ALL
from loadstone.analysis.gains import TOO_FEW
from loadstone.analysis.levels import named, spelled
from loadstone.analysis.question import Level, Question
from loadstone.analysis.summary import Summary
from loadstone.analysis.verdicts import LEAST_EFFECT

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
