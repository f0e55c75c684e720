"""Medians and gains against cases whose answer is known."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone import LoadstoneError, stats

TIMES = st.lists(st.floats(1.0, 1e6), min_size=stats.LEAST_PAIRS, max_size=30)


def _drawn(first: list[float], second: list[float], seed: int, *, paired: bool = True) -> np.ndarray:
    resampled = stats.Resampled(first, second, seed, paired=paired)
    return np.exp(resampled.ln_gains(stats.RESAMPLES))


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


# Whole numbers: of times that differ in the last bit alone, dividing may change the order.
@given(
    st.lists(st.integers(1, 10**6).map(float), min_size=stats.LEAST_PAIRS, max_size=30), st.floats(0.1, 10.0)
)
@settings(deadline=None)
def test_a_constant_factor_is_known_exactly(times: list[float], factor: float) -> None:
    # Pairs keep it: whatever is drawn, both medians are of the same runs.
    gain = stats.gain(times, [time / factor for time in times], 1, random=True)
    for value in (gain.ratio, gain.low, gain.high):
        assert math.isclose(value, factor, rel_tol=1e-9)


def test_the_interval_of_a_median_is_that_of_the_sign_test() -> None:
    # Over n distinct values the true median is below the k-th with the probability that fewer than k of n
    # tosses of a coin come up heads; so each end is between the two values where that passes 2.5 %.
    count = 21
    values = [100.0 + 10.0 * at for at in range(count)]
    below = [sum(math.comb(count, j) for j in range(k)) / 2**count for k in range(1, count + 1)]
    gain = stats.gain(values, [1.0] * count, 1, random=True)
    for share, end in ((0.025, gain.low), (0.975, gain.high)):
        above = next(at for at in range(count) if below[at] >= share)
        assert values[above - 1] <= end <= values[above]
    assert gain.low < gain.ratio < gain.high


def test_many_runs_are_drawn_from_afar_with_the_same_result() -> None:
    # 255 runs are weighed one by one, 256 are not.
    draw = random.Random(3)
    chances = [draw.gauss(0, 0.2) for _ in range(256)]
    first = [1000 * math.exp(chance) for chance in chances]
    second = [800 * math.exp(chance / 2 + draw.gauss(0, 0.1)) for chance in chances]
    near = stats.gain(first[:255], second[:255], 1, random=True)
    far = stats.gain(first, second, 1, random=True)
    assert far.low == pytest.approx(near.low, rel=0.004)
    assert far.high == pytest.approx(near.high, rel=0.004)
    assert far.saved == pytest.approx(near.saved, abs=0.05)


def test_draws_have_the_ends_of_the_interval_as_their_quantiles() -> None:
    draw = random.Random(4)
    first, second = ([draw.lognormvariate(8, 0.3) for _ in range(21)] for _ in range(2))
    for paired in (True, False):
        gain = stats.gain(first, second, 9, random=True, paired=paired)
        drawn = sorted(_drawn(first, second, 9, paired=paired))
        assert drawn[249] == pytest.approx(gain.low, rel=0.001)
        assert drawn[9750] == pytest.approx(gain.high, rel=0.001)


def test_draws_of_conditions_under_the_same_seeds_go_together() -> None:
    # Two conditions in which the same chance does the same: the mean of both is known no better than one.
    draw = random.Random(6)
    first, second = ([draw.lognormvariate(8, 0.3) for _ in range(21)] for _ in range(2))
    one = _drawn(first, second, 1)
    other = _drawn([2 * ms for ms in first], second, 1)
    assert other / one == pytest.approx(2.0)
    assert not (_drawn(first, second, 2) == one).all()


def test_pairing_saves_what_both_sides_have_in_common() -> None:
    # ln of both is a common part and an own one of the same size: correlation 1/2, so half of the variance
    # of means is saved. Medians have 2/pi arcsin(1/2) = 1/3 of it in common.
    draw = random.Random(7)
    common = [draw.gauss(0, 0.2) for _ in range(4001)]
    first, second = ([1000 * math.exp(chance + draw.gauss(0, 0.2)) for chance in common] for _ in range(2))
    assert stats.gain(first, second, 1, random=True).saved == pytest.approx(1 / 3, abs=0.05)
    assert stats.gain(first, second, 1, random=True, paired=False).saved is None
    assert stats.gain(first, first, 1, random=True).saved == pytest.approx(1.0)


def test_sides_under_seeds_apart_need_not_have_as_many_runs() -> None:
    first, second = [100.0 + at for at in range(9)], [50.0 + at for at in range(30)]
    gain = stats.gain(first, second, 1, random=True, paired=False)
    assert gain.ratio == 104.0 / 64.5
    assert gain.low < gain.ratio < gain.high
    with pytest.raises(LoadstoneError, match="are not pairs"):
        stats.gain(first, second, 1, random=True)


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
