"""What `whatif` prints."""

from typing import Any

from loadstone import __version__, text
from loadstone.engine import engine
from loadstone.savings import Saving, Savings
from loadstone.verb_output import runs_text

_SHOWN = 20
"""The most lines where not all are asked for."""


def document(found: Savings) -> dict[str, Any]:
    """Give the document of `loadstone whatif --json`."""
    return {
        "version": __version__,
        "engine": engine(),
        "page": found.page,
        "network": found.base.cell.network,
        "variant": found.base.cell.variant,
        "spread": found.base.cell.spread,
        "runs": len(found.base.outcomes),
        "median_plt_ms": found.base.median_plt_ms,
        "savings": [_saving(found, saving) for saving in found.savings],
    }


def _saving(found: Savings, saving: Saving) -> dict[str, Any]:
    low, high = saving.interval_ms or (None, None)
    of = saving.idea.part
    return {
        "part": of.what,
        "name": of.name,
        "objects": len(of.places),
        "change": saving.idea.change,
        "by_rules": found.is_guess(saving),
        "median_plt_ms": saving.result.median_plt_ms,
        "saved_ms": saving.ms,
        "saved_low_ms": low,
        "saved_high_ms": high,
        "is_clear": saving.is_clear,
    }


def in_words(found: Savings, *, is_all: bool) -> str:
    """Give a table, what saves most first."""
    base = found.base
    head = (
        f"{text.printable(found.page)} on {base.cell.network}, {base.cell.variant['protocol']}: "
        f"{text.ms(base.median_plt_ms)}; {runs_text(found.network)}"
    )
    shown = found.savings if is_all else found.best[:_SHOWN]
    if not shown:
        return f"{head}\n\nNothing that was tried makes it clearly faster."
    rows = [["change", "of", "saves", "95 % interval"]]
    rows += [[change(found, one), part(one), text.ms(one.ms), interval(one)] for one in shown]
    lines = [head, "", text.table(rows, left=2)]
    if left := len(found.savings) - len(shown):
        lines.append(f"{text.count(left, 'idea')} more, which save less or nothing clear: --all shows them")
    if any(map(found.is_guess, shown)):
        lines.append("*: by the HAR's rules: when objects were found is not recorded, but guessed")
    return "\n".join(lines)


def interval(saving: Saving) -> str:
    """Give the ends of what it saves."""
    ends = saving.interval_ms
    return "" if ends is None else f"{ends[0]:,.0f} - {ends[1]:,.0f} ms"


def change(found: Savings, saving: Saving) -> str:
    """Say what is done; a star marks what turns on guessed times."""
    return f"{saving.idea.change}{'*' if found.is_guess(saving) else ''}"


def part(saving: Saving) -> str:
    """Say to what it is done."""
    of = saving.idea.part
    name = text.shorten(text.printable(of.name), 60)
    objects = f" ({text.count(len(of.places), 'object')})" if len(of.places) > 1 else ""
    return f"{of.what} {name}{objects}"
