"""The cells of misfits.md, simulated once more with their round trips moved a little: what changes is chance.

.venv/bin/python studies/validation/moved.py > studies/validation/moved.md

Where some of them have the kernel's time, microseconds decide which time it is.
"""

import json
import re
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from loadstone import experiment, text
from loadstone._native import Scenario
from loadstone.studies.validation import accuracy
from loadstone.studies.validation.grid import Cell

STEPS = 20
STEP_MS = 0.05
ALLOWED = 0.01
"""What a moved load may lie beyond the kernel's range and still count as within."""

ABOUT = """\
The cells of [misfits.md](misfits.md), simulated with a round trip up to 1 ms shorter or longer, in steps of
0.05 ms: median and range of 41 loads, and how many are within 1 % of the range of the kernel's repeats. Where
some are, the kernel's time is one of those that the simulator has too, and microseconds decide which.

| cell | kernel | simulated | moved | within |
|---|---|---|---|---|
"""


def named(known: Sequence[Cell]) -> list[Cell]:
    """Give the cells that stand in the headings of misfits.md."""
    by_name = {str(cell): cell for cell in known}
    headings = re.findall(r"^## `(.*)`$", Path(__file__).with_name("misfits.md").read_text(), re.MULTILINE)
    return [by_name[name] for name in headings]


def moved(cell: Cell) -> list[Scenario]:
    """Make the cell's scenario with other round trips, its own in the middle."""
    fields = json.loads(cell.scenario().to_json())
    rate, rtt, *others = cell.network.split(",")
    scenarios = []
    for step in range(-STEPS, STEPS + 1):
        ms = float(rtt.removesuffix("ms")) + step * STEP_MS
        fields["network"] = ",".join([rate, f"{ms:g}ms", *others])
        scenarios.append(Scenario(json.dumps(fields)))
    return scenarios


def row(cell: Cell, kernel_ms: Sequence[float]) -> str:
    """Set the kernel's, the simulated and the moved loads of a cell side by side."""
    times = [outcome.plt_ms for outcome in experiment.execute([(one, 1) for one in moved(cell)], None)]
    low, high = min(kernel_ms) * (1 - ALLOWED), max(kernel_ms) * (1 + ALLOWED)
    within = f"{sum(low <= ms <= high for ms in times)} of {len(times)}"
    columns = [f"`{cell}`", spread(kernel_ms), text.ms(times[STEPS]), spread(times), within]
    return f"| {' | '.join(columns)} |\n"


def spread(times_ms: Sequence[float]) -> str:
    """Give median and range."""
    return f"{text.ms(statistics.median(times_ms))} ({min(times_ms):,.0f}-{max(times_ms):,.0f})"


def main() -> None:
    """Print the table."""
    measured = accuracy.read(None)
    sys.stdout.write(ABOUT)
    for cell in named(measured.cells()):
        kernel_ms = [one.load.plt_ms for one in measured.measurements if one.cell == cell]
        sys.stdout.write(row(cell, kernel_ms))


if __name__ == "__main__":
    main()
