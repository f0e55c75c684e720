"""How often 95 % intervals of the geometric mean of gains hold the truth, with loads missing and without.

    .venv/bin/python studies/statistics/means.py > studies/statistics/means.md     # 5 minutes

The simulator's own questions under shared seeds, their truth being that of 20,000 other runs; and made-up
conditions whose gain is 1.
"""

import sys
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from questions import QUESTIONS, Times

from loadstone.stats import Resampled

EXPERIMENTS = 200
RUNS = 42
DRAWS = 1_999
RESAMPLES = 10_000
TRUTH_RUNS = 20_000
TRUTH_SEED = 1_000_000_000
TAILS = (0.025, 0.975)
SPREAD = 0.3

ABOUT = f"""\
In % of {EXPERIMENTS} experiments how often a 95 % interval of the geometric mean of gains holds the truth; in
brackets, the mean width of ln of it. Conditions share seeds. *21 runs*: all have the same. *Holes*: of 21
runs one in ten is missing in each condition, at random. *21 or 42*: every other condition has 42 runs, as
where runs go on until a gain is known. By chance alone 95 % comes out as 92 to 98 % of {EXPERIMENTS}. The
script is [means.py](means.py).

| conditions | 21 runs | holes | 21 or 42 |
|---|---|---|---|
"""

Places = NDArray[np.intp]
Side = tuple[Times, Times]
Way = Callable[[int, np.random.Generator], Places]

WAYS: dict[str, Way] = {
    "21 runs": lambda at, rng: np.arange(21),
    "holes": lambda at, rng: np.flatnonzero(rng.random(21) >= 0.1),
    "21 or 42": lambda at, rng: np.arange(42 if at % 2 else 21),
}


def simulated() -> tuple[float, Iterator[list[Side]]]:
    """Give the truth about the simulator's questions, and the experiments."""
    # The last question has no median to speak of: see coverage.md.
    questions = QUESTIONS[:-1]
    pairs = [question.times(TRUTH_SEED, TRUTH_RUNS) for question in questions]
    truth = float(np.mean([np.log(np.median(one)) - np.log(np.median(other)) for one, other in pairs]))
    times = [question.times(1, EXPERIMENTS * RUNS) for question in questions]
    shaped = [tuple(side.reshape(EXPERIMENTS, RUNS) for side in both) for both in times]
    return truth, ([(one[k], other[k]) for one, other in shaped] for k in range(EXPERIMENTS))


def made_up(conditions: int, shared: float) -> tuple[float, Iterator[list[Side]]]:
    """Give experiments whose gains are 1; `shared` is the part of the chance that all conditions share."""

    def experiment(k: int) -> list[Side]:
        rng = np.random.default_rng([conditions, k])
        luck = rng.standard_normal((2, RUNS))
        own = rng.standard_normal((conditions, 2, RUNS))
        times = np.exp(SPREAD * (np.sqrt(shared) * luck + np.sqrt(1 - shared) * own))
        return [(one, other) for one, other in times]

    return 0.0, (experiment(k) for k in range(EXPERIMENTS))


CASES: dict[str, Callable[[], tuple[float, Iterator[list[Side]]]]] = {
    "the simulator's five questions": simulated,
    "60 in which the same chance does the same": lambda: made_up(60, 1.0),
    "100 that have half of it in common": lambda: made_up(100, 0.5),
    "100 with a chance of their own each": lambda: made_up(100, 0.0),
}


def interval(sides: list[Side], way: Way, rng: np.random.Generator) -> tuple[float, float]:
    """Give the interval of ln of the geometric mean, as an analysis makes it."""
    total = np.zeros(DRAWS)
    for at, (one, other) in enumerate(sides):
        places = way(at, rng)
        first, second, kept = one[places].tolist(), other[places].tolist(), np.asarray(places).tolist()
        drawn = Resampled(first, second, 1, paired=True, places=kept, resamples=RESAMPLES)
        total += np.asarray(drawn.ln_gains(DRAWS))
    low, high = np.quantile(total / len(sides), TAILS)
    return float(low), float(high)


def main() -> None:
    """Print the table."""
    sys.stdout.write(ABOUT)
    for name, case in CASES.items():
        truth, experiments = case()
        rng = np.random.default_rng(7)
        found = [[interval(sides, way, rng) for way in WAYS.values()] for sides in experiments]
        cells = []
        for of_way in zip(*found, strict=True):
            held = np.mean([low <= truth <= high for low, high in of_way])
            cells.append(f"{100 * held:.1f} ({np.mean([high - low for low, high in of_way]):.3f})")
        sys.stdout.write(f"| {name} | {' | '.join(cells)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
