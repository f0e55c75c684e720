"""Words for gains, levels and conditions."""

from collections.abc import Mapping, Sequence

from loadstone import text
from loadstone.analysis.cube import ALL
from loadstone.analysis.question import Level, Question
from loadstone.analysis.summary import Summary

_ROOM = 32


def spelled(level: Level | None) -> str:
    """Write a level as a matrix has it; of a margin `all`."""
    if level is None:
        return ALL
    if isinstance(level, bool):
        return "true" if level else "false"
    return f"{level:.15g}" if isinstance(level, float) else text.harmless(f"{level}")


def shown(level: Level | None) -> str:
    """Write a level so that it fits into a table; paths of pages are long."""
    return text.shorten(spelled(level), _ROOM)


def named(factor: str, level: Level) -> str:
    """Write a level so that it says what it is of: `h2`, but `iw 10`."""
    says_little = isinstance(level, int | float) or not level[:1].isalpha()
    return f"{text.harmless(factor)} {shown(level)}" if says_little else shown(level)


def challenger(question: Question, level: Level) -> str:
    """Name a level of the compared factor."""
    return named(question.compared, level)


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
        return f"{who} is {gain(found.best.gain)} times as fast as {base}{_certainty(found)}."
    mean = interval(whole.low, whole.high)
    said = f"95 %: {mean}; " if mean else ""
    return (
        f"{who} is {gain(whole.mean)} times as fast as {base} on average over "
        f"{text.count(whole.conditions, 'condition')} ({said}geometric mean {gain(whole.geometric_mean)}): "
        f"from {gain(found.worst.gain)} with {condition(found.worst.condition)} "
        f"to {gain(found.best.gain)} with {condition(found.best.condition)}. {_counts(found)}"
    )


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
        "exactly as fast": found.equal,
        "undecided": found.undecided,
    }
    said = [f"{kind} in {count:,}" for kind, count in kinds.items() if count]
    return f"It is {listed(said)} of {whole:,}."
