"""The accuracy that was accepted: percentiles in a file beside the kept measurements, not to get worse."""

import json
from pathlib import Path

from loadstone.files import InputError
from loadstone.validation import judgement, measurements
from loadstone.validation.judgement import Group, Scores
from loadstone.validation.measurements import Measured
from loadstone.validation.score import Validation

FOLDER = Path(__file__).parents[3] / "studies" / "validation"
"""Where a checkout keeps measurements and the accuracy that was accepted."""

ACCEPTED = FOLDER / "accuracy.json"

_ROUNDING = 0.0101
"""Figures are written to a hundredth of a per cent; one step of that is no change."""

Accuracy = dict[str, dict[str, float]]
"""Figures in %, by group."""


def read(path: str | None) -> Measured:
    """Read measurements: those that are kept, unless a file is named."""
    return measurements.read(_kept() if path is None else path)


def _kept() -> str:
    found = sorted(map(str, FOLDER.glob("linux-*.csv*")))
    if not found:
        raise InputError(
            "no measurements are kept here: use a checkout that has studies/validation/linux-*.csv.gz, "
            "or name a file with --measurements"
        )
    if len(found) > 1:
        raise InputError(f"{len(found)} files of measurements are kept: name one of {', '.join(found)}")
    return found[0]


def of(validation: Validation) -> Accuracy:
    """Give what is written down of a validation."""
    groups = judgement.grouped(validation.scores)
    return {group.name: _figures(group, scores) for group, scores in groups.items()}


def _figures(group: Group, scores: Scores) -> dict[str, float]:
    figures = {f"p{at}": judgement.percentile_error(scores, at / 100) for at in (50, 90, 95)}
    figures |= {row.key: row.figure for row in judgement.rows(group, scores)}
    return {"cells": len(scores), **{key: round(figure, 2) for key, figure in figures.items()}}


def accept(accuracy: Accuracy) -> None:
    """Write an accuracy down, to be held to from now on."""
    ACCEPTED.write_text(json.dumps(accuracy, indent=2) + "\n")


def worse(now: Accuracy) -> list[str]:
    """Say which figures are worse than what was accepted."""
    if not ACCEPTED.exists():
        return ["none was accepted yet"]
    accepted: Accuracy = json.loads(ACCEPTED.read_text())
    found = []
    for group, figures in accepted.items():
        if group not in now:
            found.append(f"{group}: no cell is left")
            continue
        for key, was in figures.items():
            if _is_worse(key, was, now[group][key]):
                found.append(f"{group}: {key} {was:g}, now {now[group][key]:g}")
    return found


def _is_worse(key: str, was: float, now: float) -> bool:
    more_is_better = key in ("cells", "near")
    change = was - now if more_is_better else abs(now) - abs(was)
    return change > _ROUNDING
