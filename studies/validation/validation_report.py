"""What `loadstone validate` prints: the judged rows, the worst cells, the conditions."""

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any

from loadstone import text
from loadstone.studies.validation import accuracy, agreement
from loadstone.studies.validation.accuracy import Row
from loadstone.studies.validation.measurements import Load, Measurement
from loadstone.studies.validation.score import Score, Validation

WORST = 20
"""How many of the worst cells are shown."""


def document(validation: Validation) -> dict[str, Any]:
    """Give the document of `--json`: figures in %, times in ms."""
    source = validation.measured.source
    groups = accuracy.grouped(validation.scores)
    return {
        "kernel": source.kernel,
        "measured_by": source.loadstone,
        "profile": validation.profile,
        "groups": [
            {
                "group": group.name,
                "title": group.title,
                "cells": len(scores),
                "rows": [_row_document(row) for row in accuracy.rows(group, scores)],
            }
            for group, scores in groups.items()
        ],
        "cells": [_cell_document(score) for score in validation.scores],
        "not_modelled": [cell.factors for cell in validation.not_modelled],
        "unfinished": [cell.factors for cell in validation.unfinished],
        "conditions": conditions(validation.measured.measurements),
    }


def _row_document(row: Row) -> dict[str, Any]:
    return {
        "key": row.key,
        "what": row.what,
        "figure": row.figure,
        "goal": row.goal and row.goal.name.lower().replace("_", " "),
        "limit": row.limit if row.goal else None,
        "met": row.is_met,
    }


def _cell_document(score: Score) -> dict[str, Any]:
    cell: dict[str, Any] = {
        **score.cell.factors,
        "runs": len(score.measured),
        "measured_plt_ms": statistics.median(score.measured_ms),
        "least_plt_ms": min(score.measured_ms),
        "most_plt_ms": max(score.measured_ms),
        "simulated_plt_ms": statistics.median(score.simulated_ms),
        "error": 100 * score.error,
    }
    if score.cell.is_random:
        cell["p_value"] = score.same_distribution()
        cell["spread_deviation"] = 100 * score.spread_deviation
    else:
        cell["beyond_range"] = 100 * score.beyond_range
    for count in COUNTS:
        cell[f"measured_{count}"], cell[f"simulated_{count}"] = medians_of(score, count)
    return cell


COUNTS = ("packets_down", "bytes_down", "retransmissions")
"""What is compared in addition to the times."""


def medians_of(score: Score, count: str) -> tuple[float, float]:
    """Give the median of a count over the kernel and over the simulator."""

    def median(loads: Sequence[Load]) -> float:
        counts: list[int] = [getattr(load, count) for load in loads]
        return statistics.median(counts)

    return median(score.measured), median(score.simulated)


def conditions(measurements: Sequence[Measurement]) -> dict[str, float]:
    """Say how much the machine disturbed the loads; times in ms."""
    if not measurements:
        return {"runs": 0}
    each = [measurement.conditions for measurement in measurements]
    worst = [one.late_worst_ms for one in each]
    return {
        "runs": len(each),
        "incomplete": sum(not measurement.load.completed for measurement in measurements),
        "paused_runs": sum(one.paused_ms > 0 for one in each),
        "paused_ms": sum(one.paused_ms for one in each),
        "paused_most_ms": max(one.paused_ms for one in each),
        "late_median_ms": statistics.median(one.late_median_ms for one in each),
        "late_worst_median_ms": statistics.median(worst),
        "late_worst_p90_ms": agreement.percentile(worst, 0.9),
        "late_worst_ms": max(worst),
    }


def words(validation: Validation) -> str:
    """Give the report for people."""
    source = validation.measured.source
    head = (
        f"The simulator (TCP profile {validation.profile}) compared with Linux {source.kernel}: "
        f"{text.count(len(validation.scores), 'cell')}, "
        f"{text.count(len(validation.measured.measurements), 'live load')}"
    )
    parts = [head, _judged(validation), *_worst(validation), conditions_in_words(validation)]
    return "\n\n".join(part for part in parts if part)


def _judged(validation: Validation) -> str:
    table = [["", "cells", "figure", "goal", ""]]
    for group, scores in accuracy.grouped(validation.scores).items():
        table.append([group.title, f"{len(scores)}", "", "", ""])
        table += [["  " + row.what, "", *figure(row)] for row in accuracy.rows(group, scores)]
    return text.table(table) if len(table) > 1 else "No cell could be scored."


def figure(row: Row) -> list[str]:
    """Write a row's figure, its goal and whether it is met."""
    sign = "+" if row.goal is accuracy.Goal.WITHIN else ""
    shown = f"{row.figure:{sign}.2f} %"
    if row.goal is None:
        return [shown, "-", ""]
    space = "" if row.goal is accuracy.Goal.WITHIN else " "
    return [shown, f"{row.goal.value}{space}{row.limit:g} %", "met" if row.is_met else "not met"]


def _worst(validation: Validation) -> list[str]:
    cells = accuracy.worst(validation.scores, WORST)
    if not cells:
        return []
    table = [["The worst cells", "kernel", "simulated", "off by"]]
    for score in cells:
        times = [text.ms(statistics.median(each)) for each in (score.measured_ms, score.simulated_ms)]
        table.append([str(score.cell), *times, f"{100 * score.miss:+.1f} %"])
    note = "Off by: beyond the range of the kernel's repeats; with loss, beyond an interval of its median."
    return [f"{text.table(table)}\n{note}"]


def conditions_in_words(validation: Validation) -> str:
    """Say under which conditions was measured, and what is not scored."""
    said = conditions(validation.measured.measurements)
    if not said["runs"]:
        return "Nothing was measured."
    lines = [
        f"{said['paused_runs']:,.0f} of {text.count(int(said['runs']), 'load')} met a pause of the machine, "
        f"{said['paused_ms'] / 1e3:,.1f} s in all, {said['paused_most_ms']:,.0f} ms at most.",
        f"Packets were late by {said['late_median_ms']:.2f} ms at the median; each load's latest by "
        f"{said['late_worst_median_ms']:.2f} ms",
        f"at the median, {said['late_worst_p90_ms']:.2f} ms at 90 %, {said['late_worst_ms']:.2f} ms at most.",
    ]
    if said["incomplete"]:
        count = text.count(int(said["incomplete"]), "live load")
        lines.append(f"{count} did not complete, and count with the time until the browser gave up.")
    if validation.not_modelled:
        controls = Counter(cell.cc for cell in validation.not_modelled)
        shown = ", ".join(f"{text.count(cells, 'cell')} with {cc}" for cc, cells in sorted(controls.items()))
        lines.append(f"Not modelled, so not scored: {shown}.")
    if validation.unfinished:
        lines.append(f"Not scored for want of runs: {text.count(len(validation.unfinished), 'cell')}.")
    return "\n".join(lines)
