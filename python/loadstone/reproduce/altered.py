"""Altered outcomes: what a claim must be able to fail by, the same for every claim of every study.

Each takes the loads that a claim is judged by and makes of them what another world would have given. The
factors that are compared have levels (`HTTP`, `SPDY`); what a level is worth in a condition is how far the
mean of its loads lies from the mean of all levels there. All alterations but one multiply this by a number.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

Alteration = Callable[[pl.DataFrame, str, Sequence[str], Sequence[str]], pl.DataFrame]
"""Of loads, the compared factor, the other factors, and what was measured."""


def _with_effect(times: float) -> Alteration:
    """Make every level worth `times` what it was. What chance adds stays, unless all are to be alike."""

    def alter(
        loads: pl.DataFrame, compared: str, factors: Sequence[str], measures: Sequence[str]
    ) -> pl.DataFrame:
        for name in measures:
            # Ratios are what is claimed; where there are zeros there is none.
            is_ratio = bool((loads[name] > 0).all())
            own = pl.col(name).log() if is_ratio else pl.col(name).cast(pl.Float64)
            level = own.mean().over([*factors, compared])
            # Levels count alike, however many loads they have.
            weight = 1 / pl.len().over([*factors, compared])
            whole = factors or pl.lit(0)
            centre = (level * weight).sum().over(whole) / weight.sum().over(whole)
            moved = centre + times * (level - centre) + (own - level if times else 0)
            loads = loads.with_columns((moved.exp() if is_ratio else moved).alias(name))
        return loads

    return alter


def _permuted(
    loads: pl.DataFrame, compared: str, factors: Sequence[str], measures: Sequence[str]
) -> pl.DataFrame:
    """Give each load what another one measured."""
    order = np.random.default_rng(0).permutation(loads.height)
    return loads.with_columns(loads[order].get_columns()[loads.columns.index(name)] for name in measures)


FAMILY: Mapping[str, Alteration] = {
    "equal": _with_effect(0),
    "inverted": _with_effect(-1),
    "halved": _with_effect(0.5),
    "doubled": _with_effect(2),
    "permuted": _permuted,
}
"""All levels alike; gains inverted; every effect halved; doubled; what was measured dealt out anew."""
