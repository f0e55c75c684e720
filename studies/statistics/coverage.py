"""How often 95 % intervals of gains hold the truth: experiments over the simulator, whose answer is known.

    .venv/bin/python studies/statistics/coverage.py > studies/statistics/coverage.md     # 10 minutes

What a gain is in truth is taken from 50,000 runs of both sides, under seeds of their own. Then the question
is put 2,000 times, each time with other seeds.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from methods import NOTHING, PLAIN, SHIPPED, SMOOTHED, draw, intervals, shipped
from questions import QUESTIONS, Question, Times

EXPERIMENTS = 2_000
OF_EACH_METHOD = 500
FIRST = 200
RUNS = (6, 11, 21, 51)
TRUTH_RUNS = 50_000
TRUTH_SEED = 1_000_000_000
WAYS = ("pairs", "apart")

ABOUT = """\
In how many of 2,000 experiments a 95 % interval of the gain holds what the gain is in truth, which is taken
from 50,000 runs under other seeds. An experiment has this many runs of both sides: in pairs under the same
seeds, or apart, each side under its own. The script is [coverage.py](coverage.py). By chance alone 95 % comes
out as 94 to 96 % of 2,000 experiments, and as 92 to 98 % of 200.

"""
SHIPPED_ABOUT = """\
## The interval of `stats.gain`

In % of 2,000 experiments; in brackets, of the first 200.

"""
METHODS_ABOUT = """\
## The methods compared

In % of the first 500 experiments: the mean over the questions, and in brackets the least and the most of
them; pairs and apart together. Width is that of ln of the gain, relative to `stats.gain`'s. The last question
is left out: see below.

"""
CLUMPS_ABOUT = """\
## Where half of the loads are alike

The last question is about so small a page that half of its loads lose nothing and take the same time to the
microsecond. The true median is at the edge of that clump, and in pairs both sides fall on the same side of
it. There no method holds 95 %. Pairs, in % of 500 experiments:

"""


@dataclass
class Held:
    """What came of the experiments of one question with this many runs."""

    holds: dict[str, list[bool]] = field(default_factory=dict)
    widths: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, low: float, high: float, truth: float) -> None:
        """Note one interval."""
        self.holds.setdefault(name, []).append(low - NOTHING <= truth <= high + NOTHING)
        self.widths.setdefault(name, []).append(high - low)

    def percent(self, name: str, first: int) -> float:
        """Give how often the method held the truth, in the first experiments, this many."""
        return 100 * float(np.mean(self.holds[name][:first]))

    def width(self, name: str) -> float:
        """Give the mean width of the method's first intervals."""
        return float(np.mean(self.widths[name][:OF_EACH_METHOD]))


Results = dict[tuple[str, int, str], Held]
"""By question, runs, and pairs or apart."""


def truth(question: Question) -> float:
    """Give ln of the gain that many runs find."""
    baseline, variant = question.times(TRUTH_SEED, TRUTH_RUNS)
    return float(np.log(np.median(baseline)) - np.log(np.median(variant)))


def experiments(question: Question, results: Results) -> float:
    """Put one question again and again; give its answer."""
    most = max(RUNS)
    answer = truth(question)
    baseline, variant = (side.reshape(EXPERIMENTS, most) for side in question.times(1, EXPERIMENTS * most))
    for way in WAYS:
        # Apart: the variant's runs are those of the next experiment, under other seeds.
        other = variant if way == "pairs" else np.roll(variant, 1, axis=0)
        for runs in RUNS:
            results[str(question), runs, way] = held(baseline[:, :runs], other[:, :runs], way, answer)
    return answer


def held(baseline: Times, variant: Times, way: str, answer: float) -> Held:
    """Make the intervals of all experiments by all methods."""
    count = baseline.shape[1]
    first = draw(count, 0)
    drawn = (first, first if way == "pairs" else draw(count, 1))
    found = Held()
    for at, (one, other) in enumerate(zip(baseline, variant, strict=True)):
        found.add(SHIPPED, *shipped(one, other, paired=way == "pairs"), answer)
        if at < OF_EACH_METHOD:
            for name, (low, high) in intervals(one, other, drawn).items():
                found.add(name, low, high, answer)
    return found


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    """Write a table."""
    lines = [" | ".join(head), "|".join(["---"] * len(head)), *(" | ".join(row) for row in rows)]
    return "".join(f"| {line} |\n" for line in lines) + "\n"


def shipped_table(answers: dict[str, float], results: Results) -> str:
    """Write the table of the interval that is shipped."""

    def cell(question: str, runs: int, way: str) -> str:
        one = results[question, runs, way]
        return f"{one.percent(SHIPPED, EXPERIMENTS):.1f} ({one.percent(SHIPPED, FIRST):.1f})"

    head = ["question", "gain", *(f"{runs} {way}" for way in WAYS for runs in RUNS)]
    rows = (
        [name, f"{np.exp(answer):.3f}", *(cell(name, runs, way) for way in WAYS for runs in RUNS)]
        for name, answer in answers.items()
    )
    return table(head, rows)


def methods_table(questions: Sequence[str], results: Results) -> str:
    """Write the table of all methods."""

    def cells(method: str) -> Iterator[str]:
        for runs in RUNS:
            all_held = [results[name, runs, way] for name in questions for way in WAYS]
            percents = [one.percent(method, OF_EACH_METHOD) for one in all_held]
            yield f"{np.mean(percents):.1f} ({min(percents):.1f}-{max(percents):.1f})"
        widths = [
            results[name, 21, way].width(method) / results[name, 21, way].width(SHIPPED)
            for name in questions
            for way in WAYS
        ]
        yield f"{np.mean(widths):.2f}"

    head = ["method", *(f"{runs} runs" for runs in RUNS), "width, 21 runs"]
    return table(head, ([name, *cells(name)] for name in [*PLAIN, SMOOTHED, SHIPPED]))


def main() -> None:
    """Print all tables."""
    results: Results = {}
    answers = {}
    for question in QUESTIONS:
        answers[str(question)] = experiments(question, results)
        sys.stderr.write(f"{question}\n")
    *questions, clumps = answers
    rows = (
        [name, *(f"{results[clumps, runs, 'pairs'].percent(name, OF_EACH_METHOD):.1f}" for runs in RUNS)]
        for name in [*PLAIN, SMOOTHED, SHIPPED]
    )
    sys.stdout.write(ABOUT + SHIPPED_ABOUT + shipped_table(answers, results) + METHODS_ABOUT)
    sys.stdout.write(methods_table(questions, results) + CLUMPS_ABOUT)
    sys.stdout.write(table(["method", *(f"{runs} runs" for runs in RUNS)], rows))


if __name__ == "__main__":
    main()
