"""Medians and gains against cases whose answer is known."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone import stats

TIMES = st.lists(st.floats(1.0, 1e6), min_size=stats.LEAST_PAIRS, max_size=30)


def test_medians_of_odd_even_and_no_values() -> None:
    assert [stats.median(values) for values in ([3.0, 1.0, 2.0], [4.0, 1.0, 2.0, 3.0], [])] == [
        2.0,
        2.5,
        None,
    ]


def test_a_gain_is_the_ratio_of_medians_not_the_median_of_ratios() -> None:
    baseline, variant = [100.0, 200.0, 600.0], [50.0, 400.0, 100.0]
    gain = stats.gain(baseline, variant, 1, random=False)
    assert gain == stats.Gain(2.0, is_exact=True)


@given(TIMES, st.floats(0.1, 10.0))
def test_a_constant_factor_is_known_exactly(times: list[float], factor: float) -> None:
    # Pairs keep it: whatever is drawn, both medians are of the same runs.
    gain = stats.gain(times, [time / factor for time in times], 1, random=True)
    for value in (gain.ratio, gain.low, gain.high):
        assert math.isclose(value, factor, rel_tol=1e-9)


def test_the_interval_of_a_median_is_that_of_its_order_statistics() -> None:
    # The bootstrap of a median over n distinct values has a closed form: the resampled median is at
    # most the k-th value if at least half of n draws are, which is a binomial sum.
    count = 21
    values = [100.0 + 10.0 * at for at in range(count)]

    def at_most(k: int) -> float:
        share, half = k / count, count // 2 + 1
        return sum(
            math.comb(count, j) * share**j * (1 - share) ** (count - j) for j in range(half, count + 1)
        )

    low = next(values[k - 1] for k in range(1, count + 1) if at_most(k) >= 0.025)
    high = next(values[k - 1] for k in range(1, count + 1) if at_most(k) >= 0.975)
    gain = stats.gain(values, [1.0] * count, 1, random=True)
    # A step of the values either way: the quantile of 9,999 draws may fall on a neighbour.
    assert abs(gain.low - low) <= 10.0
    assert abs(gain.high - high) <= 10.0
    assert low < gain.ratio < high


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    # Both variants have the same distribution, so the true gain is 1.
    draw = random.Random(5)
    trials = 120
    hits = 0
    for trial in range(trials):
        first, second = ([draw.lognormvariate(8, 0.2) for _ in range(21)] for _ in range(2))
        gain = stats.gain(first, second, trial, random=True)
        hits += gain.low <= 1.0 <= gain.high
    # Three standard deviations of a binomial below 95 %.
    assert hits / trials >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / trials)


def test_the_seed_decides_the_interval() -> None:
    draw = random.Random(2)
    first, second = ([draw.lognormvariate(8, 0.3) for _ in range(21)] for _ in range(2))
    assert stats.gain(first, second, 7, random=True) == stats.gain(first, second, 7, random=True)


def test_an_interval_needs_chance_and_enough_pairs() -> None:
    few = [float(at) for at in range(1, stats.LEAST_PAIRS)]
    enough = [*few, 9.0]
    assert stats.gain(few, few, 1, random=True).low is None
    assert stats.gain(enough, enough, 1, random=True).low is not None
    assert stats.gain(enough, enough, 1, random=False).low is None
    assert stats.gain([], [], 1, random=True) is None


@pytest.mark.parametrize(
    ("gain", "clear"),
    [
        (stats.Gain(1.2, is_exact=True), True),
        (stats.Gain(1.0, is_exact=True), False),
        (stats.Gain(1.2), False),
        (stats.Gain(1.2, 1.1, 1.3), True),
        (stats.Gain(0.8, 0.7, 0.9), True),
        (stats.Gain(1.2, 0.9, 1.5), False),
        (stats.Gain(1.2, 1.0, 1.5), False),
    ],
)
def test_a_gain_is_clear_when_its_interval_leaves_one_out(gain: stats.Gain, clear: bool) -> None:
    assert gain.is_clear == clear
