"""Cells gathered by the levels of each factor, in the order in which the grid has them."""

from collections.abc import Sequence

from loadstone.validation.grid import FULL
from loadstone.validation.score import Score

_TITLES = {
    "name": "size or page",
    "protocol": "protocol",
    "rate": "rate",
    "rtt": "RTT",
    "queue": "queue",
    "iw": "IW",
    "cc": "congestion control",
    "loss": "loss",
}
"""Factors by which figures are shown. Connections and kind say nothing that protocol and name do not."""


def by_factor(scores: Sequence[Score]) -> dict[str, dict[str, list[Score]]]:
    """Give the scores of each level of each factor that has more than one level here, under their titles."""
    found = {title: _levels(factor, scores) for factor, title in _TITLES.items()}
    return {title: levels for title, levels in found.items() if len(levels) > 1}


def _levels(factor: str, scores: Sequence[Score]) -> dict[str, list[Score]]:
    known = [cell.factors[factor] for cell in FULL.cells]
    levels: dict[str, list[Score]] = {level: [] for level in dict.fromkeys(known)}
    for score in scores:
        levels.setdefault(score.cell.factors[factor], []).append(score)
    return {level: members for level, members in levels.items() if members}
