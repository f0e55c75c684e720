"""The ranks and summaries that effects are told by."""

import math
import random

import pytest
from scipy import stats as scipy_stats

from loadstone import stats

SPREAD = [1000.0 + 10 * at for at in range(21)]


def test_ranks_count_pairs_and_ask_the_signed_rank_test() -> None:
    ranks = stats.rank_test([3.0, 2.0, 5.0, 4.0], [1.0, 2.0, 6.0, 2.0])
    assert (ranks.pairs, ranks.faster, ranks.slower, ranks.is_paired) == (4, 2, 1, True)
    assert ranks.share_faster == 0.625
    # Eight pairs of one sign: of 256 patterns of signs two are as far out.
    assert stats.rank_test(SPREAD[:8], [ms * 0.9 - ms**0.5 for ms in SPREAD[:8]]).p_value == pytest.approx(
        2 / 256
    )


def test_ranks_apart_compare_each_load_with_each() -> None:
    ranks = stats.rank_test([3.0, 5.0], [1.0, 3.0, 4.0], paired=False)
    # 3 beats 1 and ties with 3; 5 beats all.
    assert (ranks.pairs, ranks.faster, ranks.slower) == (6, 4, 1)
    assert ranks.share_faster == 0.75
    u = scipy_stats.mannwhitneyu([3.0, 5.0], [1.0, 3.0, 4.0]).statistic
    assert ranks.share_faster == u / 6


@pytest.mark.parametrize("count", [5, 21, 49, 80, 300])
def test_p_values_are_those_of_another_program(count: int) -> None:
    draw = random.Random(count)
    first, second = ([draw.lognormvariate(7, 0.3) for _ in range(count)] for _ in range(2))
    if count > 50:
        # Of many loads some are equal, and some pairs.
        first[5:10] = second[5:10]
        first[20:50], second[20:50] = [first[20]] * 30, [second[20]] * 30
    differences = [math.log(one) - math.log(other) for one, other in zip(first, second, strict=True)]
    paired = scipy_stats.wilcoxon(differences, zero_method="pratt").pvalue
    assert stats.rank_test(first, second).p_value == pytest.approx(paired, rel=1e-9)
    exact = "exact" if 2 * count <= 50 else "asymptotic"
    apart = scipy_stats.mannwhitneyu(first, second, method=exact).pvalue
    assert stats.rank_test(first, second, paired=False).p_value == pytest.approx(apart, rel=1e-9)


def test_all_equal_is_no_difference() -> None:
    for paired in (True, False):
        ranks = stats.rank_test([7.0] * 9, [7.0] * 9, paired=paired)
        assert (ranks.p_value, ranks.share_faster) == (1.0, 0.5)
    assert stats.rank_test([], [], paired=False) is None


def test_a_summary_of_times_whose_answers_are_known() -> None:
    summary = stats.Summary.of([1.0, 2.0, 4.0, 8.0, 16.0])
    assert (summary.count, summary.median, summary.mean, summary.least, summary.most) == (
        5,
        4.0,
        6.2,
        1.0,
        16.0,
    )
    assert math.isclose(summary.geometric_mean, 4.0)
    assert (summary.p25, summary.p75) == (2.0, 8.0)
    # The 90th percentile is 0.6 of the way from the fourth to the fifth.
    assert math.isclose(summary.p90, 8.0 + 0.6 * 8.0)
    assert stats.Summary.of([]) is None
