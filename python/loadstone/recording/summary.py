"""What is said of a recording when it is made."""

import re
from collections import Counter
from dataclasses import asdict
from statistics import median
from typing import Any

from loadstone import text
from loadstone.files import InputError
from loadstone.recording.exchange import BodyState
from loadstone.recording.recorder import Recording

_BUSY = 1.5
"""How often longer tasks may take than the processor works on them, before it is said."""


def address(url: str) -> str:
    """Give a URL as Chromium wants it; only what a server serves is recorded."""
    if re.match(r"https?://[^/\s]", url, re.IGNORECASE):
        return url
    raise InputError(f"{url}: no URL that can be recorded: give one that begins with https:// or http://")


def document(made: Recording, output: str) -> dict[str, Any]:
    """Give it for programs."""
    archive = made.archive
    return {
        "output": output,
        "browser": archive.browser,
        "loads": [
            {
                **asdict(one),
                "exchanges": sum(exchange.load == one.number for exchange in archive.exchanges),
            }
            for one in archive.loads
        ],
        "bodies": {state.value: count for state, count in _states(made).items()},
        "failed": list(made.failed),
    }


def in_words(made: Recording, output: str) -> str:
    """Give it as a table."""
    rows = [["load", "page", "requests", "body bytes", "load event", "ended"]]
    for one in made.archive.loads:
        of_load = [exchange for exchange in made.archive.exchanges if exchange.load == one.number]
        rows.append(
            [
                f"{one.number}{' warm' if one.warm else ''}",
                one.url,
                str(len(of_load)),
                f"{sum(len(exchange.body) for exchange in of_load):,}",
                "none" if one.onload_ms is None else text.ms(one.onload_ms),
                one.ended,
            ]
        )
    lines = [text.table(rows), f"Written to {output}."]
    states = _states(made)
    if missing := states[BodyState.MISSING]:
        lines.append(f"{text.count(missing, 'body')} could not be had.".replace("bodys", "bodies"))
    if lost := sum(one.lost for one in made.archive.loads):
        lines.append(f"Of {text.count(lost, 'request')} Chromium told the response only: record again.")
    ratios = [one.wall_per_cpu for one in made.archive.loads if one.wall_per_cpu is not None]
    if ratios and (ratio := median(ratios)) > _BUSY:
        lines.append(
            f"The page's tasks took {ratio:.1f} times as long as the processor worked on them, so what is "
            "recorded as computing has waits in it: record where less else is running, or with more cores."
        )
    return "\n".join(lines)


def _states(made: Recording) -> Counter[BodyState]:
    return Counter(one.body_state for one in made.archive.exchanges)
