"""Experiments in both worlds: the kernel's figures are kept, the simulator's are printed next to them."""

import csv
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from loadstone import experiment
from loadstone._native import Outcome, Scenario, live_access, run_live
from loadstone.packets import LIMIT

Job = tuple[Scenario, int]
"""What is loaded, and the seed."""
Figure = Callable[[Outcome], float]


@dataclass(frozen=True)
class Experiment:
    """A figure of some loads; the simulator may have more of them, since they cost nothing there."""

    name: str
    live: Sequence[Job]
    simulated: Sequence[Job]
    figure: Figure
    shows_range: bool = False
    """Whether the simulator's loads differ in more than chance, so that their range is worth showing."""


def study(script: str, experiments: Sequence[Experiment], at_once: int, about: str = "") -> None:
    """Print the table of a script's experiments; with `--measure` measure the kernel's figures again.

    They are kept next to the script, as CSV; `at_once` loads run at a time.
    """
    kept = Path(script).with_suffix(".csv")
    if "--measure" in sys.argv:
        measure(kept, experiments, at_once)
    else:
        sys.stdout.write(about + table(experiments, read(kept)))


def measure(kept: Path, experiments: Iterable[Experiment], at_once: int) -> None:
    """Run everything over the kernel and keep the figures."""
    if why_not := live_access():
        sys.exit(why_not)
    # One load gives the figures of all experiments that have it.
    jobs: dict[tuple[str, int], Scenario] = {}
    wanted: dict[tuple[str, int], list[tuple[Experiment, int]]] = {}
    for one in experiments:
        for number, (scenario, seed) in enumerate(one.live, start=1):
            key = scenario.to_json(), seed
            jobs[key] = scenario
            wanted.setdefault(key, []).append((one, number))

    def run(key: tuple[str, int]) -> list[tuple[str, int, str, str]]:
        outcome = run_live(jobs[key], key[1], packets=LIMIT)
        kernel = (outcome.conditions() or {})["kernel"]
        return [(one.name, number, f"{one.figure(outcome):.3f}", kernel) for one, number in wanted[key]]

    with ThreadPoolExecutor(at_once) as pool:
        rows = [row for rows in pool.map(run, jobs) for row in rows]
    order = {one.name: place for place, one in enumerate(experiments)}
    with kept.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("experiment", "seed", "figure", "kernel"))
        writer.writerows(sorted(rows, key=lambda row: (order[row[0]], row[1])))


def read(kept: Path) -> dict[str, list[float]]:
    """Read the kernel's figures, by the name of the experiment."""
    figures: dict[str, list[float]] = {}
    with kept.open() as file:
        for row in csv.DictReader(file):
            figures.setdefault(row["experiment"], []).append(float(row["figure"]))
    return figures


def table(experiments: Iterable[Experiment], kernel: dict[str, list[float]]) -> str:
    """Compare the simulator's figures with the kernel's."""
    lines = ["| experiment | kernel: median (range) | simulated | difference |", "|---|---|---|---|"]
    outcomes: dict[int, list[Outcome]] = {}
    for one in experiments:
        # Experiments that share their loads come one after the other.
        if id(one.simulated) not in outcomes:
            outcomes = {id(one.simulated): experiment.execute(one.simulated, None, packets=LIMIT)}
        ours = [one.figure(outcome) for outcome in outcomes[id(one.simulated)]]
        theirs = kernel[one.name]
        middle, simulated = statistics.median(theirs), statistics.median(ours)
        shown = _with_range(ours) if one.shows_range else f"{simulated:,.1f}"
        difference = f"{simulated / middle - 1:+.1%}"
        if one.shows_range and (max(ours) < min(theirs) or min(ours) > max(theirs)):
            difference = f"**{difference}**"
        lines.append(f"| {one.name} | {_with_range(theirs)} | {shown} | {difference} |")
    return "\n".join(lines) + "\n"


def _with_range(figures: Sequence[float]) -> str:
    return f"{statistics.median(figures):,.1f} ({min(figures):,.1f}-{max(figures):,.1f})"
