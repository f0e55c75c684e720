"""How much faster a sweep is on two workers than on one: threads of a process, and processes under Dask.

Interleaved rounds; prints Markdown: `.venv/bin/python studies/sweeps/speed.py > studies/sweeps/speed.md`. The
second part sweeps the 3,360 configurations of the study `nsdi` on all cores.
"""

# ruff: noqa: T201

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from distributed import LocalCluster

from loadstone.stores import Matrix, cluster, sweep

ROUNDS = 5
HERE = Path(__file__).parent

MATRIX = Matrix(
    factors={
        "objects": [10, 40, 160],
        "size": ["5KB", "40KB"],
        "loss": [0, 1, 2],
        "rtt": [20, 50, 100, 200],
        "protocol": ["http/1.1", "h2"],
    },
    common={"page": "synthetic:objects={objects},size={size}", "network": "10/1mbit,{rtt}ms,loss={loss}%"},
    runs=600,
)


WARM = replace(MATRIX, runs=30)


def seconds(matrix: Matrix, **how: Any) -> tuple[float, int]:
    """Sweep into a new folder; give the time, and how many runs there were."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        swept = sweep(matrix, folder, **how)
        return time.perf_counter() - begun, swept.runs


def by_threads(workers: int) -> tuple[float, int]:
    """Sweep on threads."""
    return seconds(MATRIX, threads=workers)


def by_dask(workers: int) -> tuple[float, int]:
    """Sweep on processes, whose start is not counted."""
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
        ) as made,
        cluster.connected(made.scheduler_address) as client,
    ):
        # Each worker has loaded the program when the clock starts.
        seconds(WARM, client=client)
        return seconds(MATRIX, client=client)


def print_ratios(name: str, run: Callable[[int], tuple[float, int]]) -> None:
    """Print times on one worker and on two, and their ratio in each round."""
    rounds = [(run(1), run(2)) for _ in range(ROUNDS)]
    one, two = (statistics.median(each[at][0] for each in rounds) for at in (0, 1))
    ratios = sorted(first[0] / second[0] for first, second in rounds)
    runs = rounds[0][0][1]
    print(
        f"| {name} | {one:.1f} s | {two:.1f} s | {ratios[len(ratios) // 2]:.2f} ({ratios[0]:.2f} to "
        f"{ratios[-1]:.2f}) | {runs / two:,.0f} |"
    )
    sys.stdout.flush()


def main() -> None:
    """Print everything."""
    print("| workers | one | two | times as fast, median of rounds (range) | loads a second on two |")
    print("|---|---|---|---|---|")
    print_ratios("threads", by_threads)
    print_ratios("processes under Dask", by_dask)
    took, runs = seconds(Matrix.read(str(HERE.parent / "nsdi" / "synthetic.toml")))
    print(f"\n`nsdi`, 3,360 configurations x 3 variants: {runs:,} runs in {took:.0f} s on all cores.")


if __name__ == "__main__":
    main()
