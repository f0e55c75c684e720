"""How often `--until` errs: comparisons that are looked at again and again until the gain is known.

    .venv/bin/python studies/statistics/stopping.py > studies/statistics/stopping.md     # 10 minutes

Runs are drawn from 20,000 runs of each side, so what the gain is in truth is known to the last digit. Of two
variants that are the same (A/A) it is 1.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from questions import QUESTIONS, Question, Times

from loadstone import stats
from loadstone.stats import Until

POOL = 20_000
COMPARISONS = 1_000
MOST_RUNS = 1_344
WANTED = ("10%", "5%")

ABOUT = f"""\
{COMPARISONS:,} comparisons for each row, of at most {MOST_RUNS:,} runs: one looks after 21, 42, 84, ...
`stats.Until` makes the intervals of look k so wide that they may miss in 5 % / (k (k + 1)); *naive* are
95 % intervals at every look. The script is [stopping.py](stopping.py).

"""
ALARMS_ABOUT = """\
## Two variants that are the same

The same variant on both sides, under seeds apart. A false alarm: any look's interval leaves out 1, whether or
not one would have stopped there. In % of the comparisons:

| variant | false alarms | naive |
|---|---|---|
"""
STOPS_ABOUT = """\
## Variants that differ, until the gain is known

Pairs under the same seeds. Stopped when half of the interval is at most so much of the gain, or at the most
runs. In %: the intervals at the stop that miss the truth, and the stops at which the gain was known as well
as was wanted; runs are the median of the comparisons.

| question | gain | until | miss | known | runs | naive miss | naive runs |
|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Look:
    """What is known after this many runs."""

    runs: int
    careful: stats.Gain
    naive: stats.Gain


@dataclass(frozen=True)
class Stop:
    """Where one comparison ended."""

    runs: int
    misses: bool
    is_known: bool


def looks(until: Until, baseline: Times, variant: Times, *, paired: bool) -> list[Look]:
    """Look at one comparison as often as there are looks."""
    found = []
    for look, runs in enumerate(until.looks(), start=1):
        one, other = baseline[:runs].tolist(), variant[:runs].tolist()
        careful, naive = (
            stats.gain(one, other, 1, random=True, paired=paired, confidence=confidence)
            for confidence in (until.confidence(look), stats.CONFIDENCE)
        )
        assert careful is not None and naive is not None
        found.append(Look(runs, careful, naive))
    return found


def comparisons(question: Question, pool: tuple[Times, Times], *, paired: bool) -> list[list[Look]]:
    """Compare again and again, by runs that are drawn from the pool."""
    rng = np.random.default_rng(1)
    until = Until(0.0, MOST_RUNS)
    found = []
    for _ in range(COMPARISONS):
        places = rng.integers(0, POOL, (2, MOST_RUNS))
        baseline, variant = pool[0][places[0]], pool[1][places[0 if paired else 1]]
        found.append(looks(until, baseline, variant, paired=paired))
    return found


def percent(cases: Sequence[bool]) -> str:
    """Write in how many cases it is so."""
    return f"{100 * np.mean(cases):.1f}"


def alarms(name: str, found: list[list[Look]]) -> str:
    """Write how often the same variant was found to differ from itself."""
    careful = percent([any(look.careful.is_clear for look in one) for one in found])
    return (
        f"| {name} | {careful} | {percent([any(look.naive.is_clear for look in one) for one in found])} |\n"
    )


def stop(until: Until, gains: Sequence[tuple[int, stats.Gain]], truth: float) -> Stop:
    """Stop where the gain is known well enough, or at the end."""
    runs, gain = next((each for each in gains if until.is_settled(each[1])), gains[-1])
    assert gain.low is not None and gain.high is not None
    return Stop(runs, not gain.low <= truth <= gain.high, until.is_settled(gain))


def stops(question: Question, wanted: str, found: list[list[Look]], truth: float) -> str:
    """Write what comes of stopping there."""
    until = Until.parse(wanted)
    careful = [stop(until, [(look.runs, look.careful) for look in one], truth) for one in found]
    naive = [stop(until, [(look.runs, look.naive) for look in one], truth) for one in found]
    columns = [
        str(question),
        f"{truth:.3f}",
        str(until),
        percent([one.misses for one in careful]),
        percent([one.is_known for one in careful]),
        f"{np.median([one.runs for one in careful]):.0f}",
        percent([one.misses for one in naive]),
        f"{np.median([one.runs for one in naive]):.0f}",
    ]
    return f"| {' | '.join(columns)} |\n"


def main() -> None:
    """Print both tables."""
    same, differing = "", ""
    # The last question has no median to speak of: see coverage.md.
    for question in QUESTIONS[:-1]:
        pool = question.times(1, POOL)
        truth = float(np.median(pool[0]) / np.median(pool[1]))
        found = comparisons(question, (pool[1], pool[1]), paired=False)
        same += alarms(f"{question.page}, {question.network}: {question.variant}", found)
        found = comparisons(question, pool, paired=True)
        differing += "".join(stops(question, wanted, found, truth) for wanted in WANTED)
        sys.stderr.write(f"{question}\n")
    sys.stdout.write(ABOUT + ALARMS_ABOUT + same + "\n" + STOPS_ABOUT + differing)


if __name__ == "__main__":
    main()
