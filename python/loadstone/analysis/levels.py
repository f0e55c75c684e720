"""Levels of factors in words."""

from loadstone import text
from loadstone.analysis.question import Level


def spelled(level: Level | None) -> str:
    """Write a level as a matrix has it."""
    if level is None:
        return "none"
    if isinstance(level, bool):
        return "true" if level else "false"
    return f"{level:.15g}" if isinstance(level, float) else text.harmless(f"{level}")


def named(factor: str, level: Level) -> str:
    """Write a level so that it says what it is of: `h2`, but `iw 10`."""
    says_little = isinstance(level, int | float) or not level[:1].isalpha()
    return f"{text.harmless(factor)} {spelled(level)}" if says_little else spelled(level)
