"""Which of two variants is faster, load by load: the effect as a share of loads, and a rank test of it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ranks:
    """In how many pairs of loads, one of each side, the variant is faster, and whether chance does that."""

    pairs: int
    """Under the same seeds; or else each load of the one with each of the other."""
    is_paired: bool
    """Whether pairs share a seed."""
    faster: int
    slower: int
    p_value: float
    """How often chance would make the sides differ so much or more if they did not: Wilcoxon's signed ranks
    of ln of the ratios for pairs, else Mann-Whitney's U. 1 where all pairs are equal."""

    @property
    def share_faster(self) -> float:
        """Give the share of pairs in which the variant is faster, an equal one counting half."""
        equal = self.pairs - self.faster - self.slower
        return (self.faster + equal / 2) / self.pairs


def rank_test(baseline: Sequence[float], variant: Sequence[float], *, paired: bool = True) -> Ranks | None:
    """Compare times in ms rank by rank; `None` where a side has none."""
    if not baseline or not variant:
        return None
    import numpy as np
    from scipy import stats

    first, second = np.asarray(baseline), np.asarray(variant)
    if paired:
        ratios = np.log(first) - np.log(second)
        faster, slower = int((ratios > 0).sum()), int((ratios < 0).sum())
        # Pratt: equal pairs have ranks, though no sign.
        p_value = stats.wilcoxon(ratios, zero_method="pratt").pvalue if faster or slower else 1.0
        return Ranks(len(first), True, faster, slower, float(p_value))
    ordered = np.sort(second)
    faster = int(np.searchsorted(ordered, first, side="left").sum())
    slower = len(first) * len(second) - int(np.searchsorted(ordered, first, side="right").sum())
    p_value = stats.mannwhitneyu(first, second).pvalue if faster or slower else 1.0
    return Ranks(len(first) * len(second), False, faster, slower, float(p_value))
