"""Gains, tables and summaries of matrices whose answers are known."""

import math
import random
import statistics
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from operator import itemgetter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matrices
from loadstone import pages, stats
from loadstone.analysis import gains
from loadstone.analysis.gain_tables import Cube, Figures, accounts, cube, overall, ranking, summary
from loadstone.analysis.question import Question
from loadstone.files import InputError
from loadstone.pages import Page
from matrices import CABLELABS, Levels

FACTORS = {"page": ("A", "B"), "loss": (0, 1), "protocol": ("http/1.1", "h2", "spdy")}
GAIN = {"http/1.1": 1.0, "h2": 2.0, "spdy": 0.5}


def steady(levels: Levels, seed: int) -> float:
    """Take 1 s with the baseline, whatever else; runs differ by seed."""
    return 1000 * (1 + seed / 100) / GAIN[levels["protocol"]]


# --- gains ---


def test_a_row_is_a_condition_and_a_challenger_in_the_order_of_the_matrix() -> None:
    frame = gains.measure(*matrices.synthetic(FACTORS, "protocol", steady, seeds=9)).frame
    columns = (
        "page loss protocol baseline_ms variant_ms gain low high pairs baseline_runs baseline_completed "
        "variant_runs variant_completed is_random"
    )
    assert " ".join(frame.columns) == columns
    places = frame.select("page", "loss", "protocol").rows()
    assert places == list(product("AB", (0, 1), ("h2", "spdy")))
    # The median of the seeds 1 to 9 is that of 5.
    assert frame.row(0)[3:] == pytest.approx((1050, 525, 2.0, 2.0, 2.0, 9, 9, 9, 9, 9, True))


def test_the_interval_is_that_of_one_comparison_made_alone() -> None:
    def erratic(levels: Levels, seed: int) -> float:
        return 1000 + (seed * 7919 % 211) if levels["protocol"] == "h2" else 1100 + (seed * 104729 % 223)

    runs, question = matrices.synthetic(FACTORS, "protocol", erratic, seeds=21)
    row = gains.measure(runs, question).frame.row(0, named=True)
    sides = [
        [erratic({"protocol": protocol}, seed) for seed in range(1, 22)] for protocol in ("http/1.1", "h2")
    ]
    alone = stats.gain(*sides, 1, random=True)
    assert row["gain"] == alone.ratio
    # Both draw; the ends lie on a grid of ratios of the times.
    assert row["low"] == pytest.approx(alone.low, abs=0.01) and row["low"] < row["gain"]
    assert row["high"] == pytest.approx(alone.high, abs=0.01) and row["high"] > row["gain"]


def test_pairs_are_of_the_same_seed_and_both_completed() -> None:
    def failing(levels: Levels, seed: int) -> float | None:
        # What is slow under a seed is slow with both, and each gives up under another seed.
        if seed == {"http/1.1": 2, "h2": 3, "spdy": 0}[levels["protocol"]]:
            return None
        return 1000.0 * seed / GAIN[levels["protocol"]]

    measured = gains.measure(*matrices.synthetic(FACTORS, "protocol", failing, seeds=9))
    h2, spdy = measured.measured.head(2).rows(named=True)
    assert (h2["pairs"], h2["baseline_ms"], h2["gain"]) == (7, 6000, 2.0)
    assert (spdy["pairs"], spdy["baseline_ms"], spdy["gain"]) == (8, 5500, 0.5)
    row = measured.medians.row(0, named=True)
    assert (row["runs"], row["completed"], row["plt_ms"]) == (9, 8, 5500)


def test_few_pairs_have_a_gain_but_no_interval() -> None:
    for seeds in (stats.LEAST_PAIRS - 1, stats.LEAST_PAIRS):
        frame = gains.measure(*matrices.synthetic(FACTORS, "protocol", steady, seeds=seeds)).frame
        assert frame["gain"].to_list() == pytest.approx([2.0, 0.5] * 4)
        assert frame["low"].null_count() == (8 if seeds < stats.LEAST_PAIRS else 0)


def test_a_cell_without_chance_is_held_against_every_seed_of_one_with_it() -> None:
    runs, question = matrices.synthetic(
        {"page": ("A",), "loss": (0, 1)}, "loss", lambda levels, seed: 100.0 + seed * levels["loss"], seeds=9
    )
    runs = runs.filter((pl.col("loss") == 1) | (pl.col("seed") == 1))
    runs = runs.with_columns(is_random=pl.col("loss") == 1)
    row = gains.measure(runs, question).frame.row(0, named=True)
    assert (row["pairs"], row["is_random"]) == (9, True)
    assert row["gain"] == 100 / 105
    assert 100 / 109 <= row["low"] < row["gain"] < row["high"] <= 100 / 101


def test_holes_are_left_out_and_said() -> None:
    def failing(levels: Levels, seed: int) -> float | None:
        fails = {("A", 0): "h2", ("A", 1): "http/1.1"}.get((levels["page"], levels["loss"]))
        return None if levels["protocol"] == fails else 100.0

    def without(levels: Levels) -> bool:
        return (levels["page"], levels["loss"], levels["protocol"]) in [
            ("B", 0, "spdy"),
            ("B", 1, "http/1.1"),
        ]

    measured = gains.measure(*matrices.synthetic(FACTORS, "protocol", failing, without=without))
    assert measured.frame.select("page", "loss", "protocol").rows() == [("A", 0, "spdy"), ("B", 0, "h2")]
    assert measured.left_out.rows() == [
        ("A", 0, "h2", "no load was completed"),
        ("A", 1, "h2", "no load of the baseline was completed"),
        ("A", 1, "spdy", "no load of the baseline was completed"),
        ("B", 0, "spdy", "it was not run"),
        ("B", 1, "h2", "the baseline was not run"),
        ("B", 1, "spdy", "the baseline was not run"),
    ]


def test_runs_that_completed_under_no_common_seed_have_no_gain() -> None:
    def alternating(levels: Levels, seed: int) -> float | None:
        return None if (levels["protocol"] == "http/1.1") == (seed % 2 == 0) else 100.0

    measured = gains.measure(*matrices.synthetic(FACTORS, "protocol", alternating, seeds=8))
    assert len(measured.frame) == 0
    assert set(measured.left_out["why"]) == {"no seed completed both"}


def test_the_order_of_the_runs_of_a_cell_changes_nothing() -> None:
    runs, question = matrices.synthetic(FACTORS, "protocol", steady, seeds=9)
    turned = runs.sort("seed", descending=True, maintain_order=True)
    first, second = gains.measure(runs, question), gains.measure(turned, question)
    assert first.frame.equals(second.frame) and (first.draws == second.draws).all()


def test_runs_of_another_matrix_are_refused() -> None:
    runs, question = matrices.synthetic(FACTORS, "protocol", steady)
    with pytest.raises(InputError, match=r"no factor loss"):
        gains.measure(runs.drop("loss"), question)


# --- tables ---


@pytest.mark.parametrize("case", CABLELABS)
def test_the_tables_5_to_10_of_cablelabs_come_out_of_its_own_rows(case: str) -> None:
    own = gains.measure(*matrices.cablelabs()).of(case)
    for table, by in (("website", ("page", "servers")), ("channel", ("loss_pct", "down_mbps", "rtt_ms"))):
        made = cube(own, by)
        rows = matrices.published(f"cablelabs-gain-by-{table}-{case}")
        shown = [["all" if level is None else f"{level}" for level in row.levels] for row in made.rows]
        assert shown == [[row[name] for name in by] for row in rows]
        for row, printed in zip(made.rows, rows, strict=True):
            for name in ("max", "mean", "min"):
                assert f"{getattr(row.figures, name):.4f}" == printed[f"{name}_recomputed"], (case, printed)
            assert row.figures.low is None


@pytest.mark.parametrize("case", CABLELABS)
def test_table_11_of_cablelabs_comes_out_of_its_own_rows(case: str) -> None:
    runs, question = matrices.cablelabs()
    own = gains.measure(runs, question).of(case)
    found = summary(own)
    good = (pl.col("page") != "C") & (pl.col("loss_pct") == 0)
    without_loss = summary(gains.measure(runs.filter(good), question).of(case))
    count = found.overall.conditions
    recomputed = {
        "best_gain": (f"{found.best.gain:.4f}", _condition(found.best.condition)),
        "average_gain": (f"{found.overall.mean:.4f}", ""),
        "worst_gain": (f"{found.worst.gain:.4f}", _condition(found.worst.condition)),
        "cases_gain_ge_1": (f"{found.at_least_1}", ""),
        "cases_gain_ge_1_pct": (f"{100 * found.at_least_1 / count:.4f}", ""),
        "cases_gain_ge_2": (f"{found.at_least_2}", ""),
        "cases_gain_ge_2_pct": (f"{100 * found.at_least_2 / count:.4f}", ""),
        "average_gain_pagesAB_loss0": (f"{without_loss.overall.mean:.4f}", ""),
    }
    rows = [row for row in matrices.published("cablelabs-summary") if row["case"] == case]
    assert {row["metric"]: (row["recomputed"], row["recomputed_condition"]) for row in rows} == recomputed
    # README of the published tables: the geometric means of the three cases.
    assert (
        f"{found.overall.geometric_mean:.3f}" == {"spdy": "1.034", "initcwnd": "1.063", "both": "1.165"}[case]
    )


def _condition(levels: Levels) -> str:
    return "/".join(str(levels[name]) for name in ("page", "servers", "down_mbps", "rtt_ms", "loss_pct"))


GRID = {"page": ("A", "B", "C"), "rate": ("1mbit", "10mbit"), "loss": (0.0, 0.5, 2.0), "iw": (3, 10, 32)}


@st.composite
def holed(draw: st.DrawFn) -> tuple[pl.DataFrame, Question]:
    """Draw a matrix with any gains and any holes, with or without chance."""
    cells = list(product(*GRID.values()))
    missing = draw(st.sets(st.sampled_from(cells), max_size=len(cells) - 5))
    slow = draw(st.lists(st.floats(10, 1e5), min_size=len(cells), max_size=len(cells)))
    time = {cell: slow[at] for at, cell in enumerate(cells)}
    key = itemgetter(*GRID)
    seeds = draw(st.sampled_from([1, 7]))
    runs, question = matrices.synthetic(
        GRID,
        "iw",
        lambda levels, seed: time[key(levels)] * (1 + (seed * levels["iw"]) % 5 / 20),
        seeds,
        lambda levels: key(levels) in missing,
    )
    return runs, question


@given(holed())
@settings(max_examples=40, deadline=None)
def test_margins_hold_together(matrix: tuple[pl.DataFrame, Question]) -> None:
    for _, own in gains.measure(*matrix).each():
        made = cube(own, ("page", "rate", "loss"))
        for row in made.rows:
            parts = list(_parts(made, row.levels))
            members = _members(own, row.levels)
            figures = row.figures
            # What the definition says, over the very conditions.
            assert figures.conditions == len(members) > 0
            assert figures.mean == pytest.approx(sum(members) / len(members))
            assert (figures.max, figures.min) == (max(members), min(members))
            # A mean is not below the geometric one, nor outside of what it is a mean of.
            assert figures.min <= figures.geometric_mean * (1 + 1e-12)
            assert figures.geometric_mean <= figures.mean * (1 + 1e-12) <= figures.max * (1 + 2e-12)
            # And every margin over its parts.
            for part in parts:
                assert sum(each.conditions for each in part) == figures.conditions
                assert max(each.max for each in part) == figures.max
                assert sum(
                    each.mean * each.conditions for each in part
                ) / figures.conditions == pytest.approx(figures.mean)
            if figures.low is not None:
                assert figures.low <= figures.geometric_mean <= figures.high
        assert made.at(None, None, None) == overall(own)
        assert len(made.rows) == len({row.levels for row in made.rows})


def _parts(made: Cube, levels: tuple) -> Iterator[list[Figures]]:
    """Give for each factor that is a margin the figures of its levels."""
    for place, level in enumerate(levels):
        if level is None:
            each = [(*levels[:place], one, *levels[place + 1 :]) for one in list(GRID.values())[place]]
            yield [figures for key in each if (figures := made.at(*key))]


def _members(own: gains.Gains, levels: tuple) -> list[float]:
    chosen = own.frame
    for name, level in zip(("page", "rate", "loss"), levels, strict=True):
        chosen = chosen if level is None else chosen.filter(pl.col(name) == level)
    return chosen["gain"].to_list()


def test_the_interval_of_a_mean_knows_that_one_seed_is_bad_luck_everywhere() -> None:
    # Every condition has the same runs: a mean over them is as uncertain as each of them.
    def unlucky(levels: Levels, seed: int) -> float:
        return 100.0 if levels["protocol"] == "http/1.1" else 80.0 + seed * 37 % 41

    own = gains.measure(*matrices.synthetic(FACTORS, "protocol", unlucky, seeds=21)).of("h2")
    (low, *_), (high, *_) = gains.interval(own.draws[:1])
    figures = overall(own)
    assert (figures.low, figures.high) == pytest.approx((low, high))
    assert figures.low < figures.geometric_mean < figures.high


def test_the_interval_of_a_mean_is_narrower_where_the_luck_is_of_each_condition() -> None:
    draw = random.Random(3)
    pages = tuple(f"page {at}" for at in range(25))

    def erratic(levels: Levels, seed: int) -> float:
        return draw.lognormvariate(7, 0.2)

    factors = {"page": pages, "protocol": ("http/1.1", "h2")}
    own = gains.measure(*matrices.synthetic(factors, "protocol", erratic, seeds=21)).of("h2")
    single = statistics.mean(row["high"] - row["low"] for row in own.frame.rows(named=True))
    figures = overall(own)
    # The mean of 25 independent gains: a fifth of the width.
    assert 0.6 * single / 5 < figures.high - figures.low < 1.6 * single / 5


def test_a_mean_over_a_condition_with_few_pairs_has_no_interval() -> None:
    runs, question = matrices.synthetic(FACTORS, "protocol", steady, seeds=9)
    few = (pl.col("page") == "A") & (pl.col("loss") == 1) & (pl.col("seed") > 5)
    made = cube(gains.measure(runs.filter(~few), question).of("h2"), ("page", "loss"))
    assert [row.levels for row in made.rows if row.figures.low is None] == [
        ("A", 1),
        ("A", None),
        (None, 1),
        (None, None),
    ]


def test_conditions_with_different_numbers_of_pairs_still_share_their_seeds() -> None:
    # The same runs in all 40 conditions, of which each lacks another one, or the second half.
    draw = random.Random(8)
    luck = [draw.lognormvariate(7, 0.3) for _ in range(42)]
    pages = tuple(range(40))
    factors = {"page": pages, "protocol": ("http/1.1", "h2")}

    def unlucky(levels: Levels, seed: int) -> float:
        return 1000.0 if levels["protocol"] == "http/1.1" else luck[seed - 1]

    runs, question = matrices.synthetic(factors, "protocol", unlucky, seeds=42)
    holes = runs.filter(pl.col("seed") != pl.col("page").cast(pl.UInt64) + 1)
    halves = runs.filter((pl.col("seed") <= 21) | (pl.col("page") % 2 == 0))
    for kept in (holes, halves):
        own = gains.measure(kept, question).of("h2")
        single = statistics.mean(math.log(row["high"] / row["low"]) for row in own.frame.rows(named=True))
        figures = overall(own)
        # Known no better than one condition, or hardly: those with twice as many runs know more.
        assert math.log(figures.high / figures.low) > 0.8 * single


def test_incomplete_pairs_leave_the_draws_of_the_others_as_they_are() -> None:
    draw = random.Random(1)
    times = [draw.lognormvariate(7, 0.3) for _ in range(21)]
    places = [at for at in range(21) if at != 3]
    few = [times[at] for at in places]
    whole, part = (
        stats.Resampled(each, [1.0] * len(each), 1, paired=True, places=kept).baseline
        for each, kept in ((times, range(21)), (few, places))
    )
    as_first = stats.Resampled(few, [1.0] * 20, 1, paired=True).baseline
    mean = statistics.correlation(whole, part)
    assert mean > 0.9 > statistics.correlation(whole, as_first)


def test_the_mean_of_many_conditions_without_a_difference_is_not_above_1() -> None:
    draw = random.Random(12)
    factors = {"page": tuple(range(800)), "protocol": ("http/1.1", "h2")}
    own = gains.measure(
        *matrices.synthetic(factors, "protocol", lambda *_: draw.lognormvariate(7, 0.3), seeds=21)
    ).of("h2")
    figures = overall(own)
    assert figures.low < 1 < figures.high and figures.high / figures.low < 1.02
    # The arithmetic mean of ratios is above it whichever side is on top: both would win.
    assert figures.mean > figures.geometric_mean + 0.005


def test_conditions_of_which_too_few_loads_were_completed_do_not_count() -> None:
    def failing(levels: Levels, seed: int) -> float | None:
        fails = {"news": 0, "shop": 2, "mail": 3}[levels["page"]]
        return None if levels["protocol"] == "h2" and seed <= fails else 1000.0 + seed

    factors = {"page": ("news", "shop", "mail"), "protocol": ("http/1.1", "h2")}
    measured = gains.measure(*matrices.synthetic(factors, "protocol", failing, seeds=20))
    # 18 of 20 are 90 %, 17 are not.
    assert measured.frame["page"].to_list() == ["news", "shop"]
    assert measured.measured["is_counted"].to_list() == [True, True, False]
    assert measured.measured["variant_completed"].to_list() == [20, 18, 17]
    assert measured.left_out.rows() == [("mail", "h2", gains.TOO_FEW)]
    found = summary(measured.of("h2"))
    assert (found.too_few, found.less_often, found.more_often) == (1, 2, 0)
    assert found.overall.conditions == 2


def test_until_the_confidence_is_that_of_the_look_not_of_the_pairs_that_are_left() -> None:
    draw = random.Random(5)

    def plt_ms(levels: Levels, seed: int) -> float | None:
        time = draw.lognormvariate(7, 0.2)
        # Three of 42 loads fail, and 39 pairs are left: still the second look.
        return None if levels["protocol"] == "h2" and seed <= 3 else time

    runs, question = matrices.synthetic({"protocol": ("http/1.1", "h2")}, "protocol", plt_ms, seeds=42)
    until = stats.Until(0.01)
    asked = replace(question, until=until)
    row = gains.measure(runs, asked).frame.row(0, named=True)
    sides = [runs.filter((pl.col("protocol") == name) & (pl.col("seed") > 3)) for name in ("http/1.1", "h2")]
    times = [side["plt_ms"].to_list() for side in sides]
    gain = stats.gain(*times, 1, random=True, confidence=until.confidence(2), places=range(3, 42))
    assert (row["low"], row["high"]) == (gain.low, gain.high)


def test_over_a_kernel_seeds_pair_nothing() -> None:
    draw = random.Random(6)
    runs, question = matrices.synthetic(
        {"page": (1, 2), "protocol": ("http/1.1", "h2")},
        "protocol",
        lambda levels, seed: None if (levels["protocol"], seed) == ("h2", 9) else draw.lognormvariate(7, 0.2),
        seeds=21,
    )
    frame = gains.measure(runs, replace(question, live=True)).frame
    row = frame.row(0, named=True)
    first = runs.filter(pl.col("page") == 1)
    sides = [
        first.filter((pl.col("protocol") == name) & pl.col("completed"))["plt_ms"].to_list()
        for name in ("http/1.1", "h2")
    ]
    assert [len(side) for side in sides] == [21, 20]
    alone = stats.gain(*sides, 1, random=True, paired=False)
    assert (row["gain"], row["low"], row["high"], row["pairs"]) == (alone.ratio, alone.low, alone.high, 20)


# --- summaries ---


def test_a_difference_without_chance_that_nobody_acts_on_is_no_clear_one() -> None:
    gain = {"a": 1.0004, "b": 1.01, "c": 0.995, "d": 0.99, "e": 1.0}
    factors = {"page": tuple(gain), "protocol": ("http/1.1", "h2")}

    def plt_ms(levels: Levels, seed: int) -> float:
        return 1000.0 / (gain[levels["page"]] if levels["protocol"] == "h2" else 1)

    found = summary(gains.measure(*matrices.synthetic(factors, "protocol", plt_ms)).of("h2"))
    assert (found.faster, found.slower, found.alike, found.equal) == (1, 1, 2, 1)


def test_clearly_faster_slower_equal_and_undecided_are_counted_apart() -> None:
    times = {"faster": 50.0, "slower": 200.0, "equal": 100.0, "undecided": 0.0}

    def plt_ms(levels: Levels, seed: int) -> float:
        if levels["protocol"] == "http/1.1":
            return 100.0
        return times[levels["page"]] or (60.0 if seed % 2 else 160.0)

    factors = {"page": tuple(times), "protocol": ("http/1.1", "h2")}
    found = summary(gains.measure(*matrices.synthetic(factors, "protocol", plt_ms, seeds=8)).of("h2"))
    assert (found.faster, found.slower, found.equal, found.undecided) == (1, 1, 1, 1)
    assert (found.best.condition, found.best.gain) == ({"page": "faster"}, 2.0)
    assert (found.worst.condition, found.worst.gain) == ({"page": "slower"}, 0.5)
    assert (found.at_least_1, found.at_least_2) == (2, 1)
    # Too few pairs to tell: all are undecided, also what always came out the same.
    found = summary(gains.measure(*matrices.synthetic(factors, "protocol", plt_ms, seeds=3)).of("h2"))
    assert (found.faster, found.undecided) == (0, 4)
    # Without chance nothing is.
    found = summary(gains.measure(*matrices.synthetic(factors, "protocol", plt_ms)).of("h2"))
    assert (found.faster, found.slower, found.equal, found.undecided) == (2, 1, 1, 0)


def test_what_the_gain_depends_on_is_ranked_by_what_it_explains() -> None:
    # ln(gain) is the sum of independent parts, so its variance is the sum of theirs: 1 to 0.25 ** 2.
    part = {"page": {"A": -1.0, "B": 1.0}, "loss": {0: -0.25, 1: 0.25}, "queue": {1: 0.0, 2: 0.0}}

    def plt_ms(levels: Levels, seed: int) -> float:
        gain = math.exp(sum(part[name][levels[name]] for name in part))
        return 1000 / (gain if levels["protocol"] == "h2" else 1)

    factors = {**{name: tuple(each) for name, each in part.items()}, "protocol": ("http/1.1", "h2")}
    ranked = ranking(gains.measure(*matrices.synthetic(factors, "protocol", plt_ms)).of("h2"))
    assert [influence.factor for influence in ranked] == ["page", "loss", "queue"]
    assert [influence.explained for influence in ranked] == pytest.approx([1 / 1.0625, 0.0625 / 1.0625, 0])
    assert ranked[0].lowest == ("A", pytest.approx(math.exp(-1)))
    assert ranked[0].highest == ("B", pytest.approx(math.exp(1)))
    assert ranked[0].by_luck == pytest.approx(1 / 7)


def test_what_a_factor_explains_by_luck_is_what_shuffled_gains_give_it() -> None:
    draw = random.Random(4)
    factors = {"page": tuple("ABCDEFGH"), "loss": (0, 1, 2), "protocol": ("http/1.1", "h2")}
    found = []
    for _ in range(200):
        made = matrices.synthetic(factors, "protocol", lambda levels, seed: draw.lognormvariate(0, 1))
        found += [each for each in ranking(gains.measure(*made).of("h2")) if each.factor == "page"]
    mean = statistics.mean(each.explained for each in found)
    assert found[0].by_luck == pytest.approx(7 / 23)
    # Four standard errors.
    assert abs(mean - 7 / 23) < 4 * statistics.stdev(each.explained for each in found) / math.sqrt(200)


def test_gains_that_are_all_the_same_depend_on_nothing() -> None:
    assert ranking(gains.measure(*matrices.synthetic(FACTORS, "protocol", steady)).of("h2")) == []


def test_accounts_add_up_to_the_page_load_time() -> None:
    def scenario(levels: Levels) -> tuple[Page, dict]:
        page = pages.read(f"synthetic:objects={levels['objects']},size=10KB")
        loss = f",loss={levels['loss']}" if levels["loss"] != "0%" else ""
        return page, {"network": f"5/1mbit,80ms{loss}", "variant.protocol": levels["protocol"]}

    factors = {"objects": (4, 32), "loss": ("0%", "2%"), "protocol": ("http/1.1", "h2")}
    runs, question = matrices.simulated(factors, "protocol", scenario)
    measured = gains.measure(runs, question)
    assert measured.frame["pairs"].to_list() == [1, 7, 1, 7]
    assert measured.frame["is_random"].to_list() == [False, True, False, True]
    (found,) = accounts(runs, measured)
    assert (found.challenger, found.conditions) == ("h2", 4)
    means = runs.group_by("objects", "loss", "protocol").agg(pl.col("plt_ms").mean())
    for side, protocol in ((found.baseline, "http/1.1"), (found.variant, "h2")):
        mean = means.filter(pl.col("protocol") == protocol)["plt_ms"].mean()
        assert sum(side.values()) == pytest.approx(mean, rel=1e-6)
    assert sum(found.saved.values()) == pytest.approx(
        sum(found.baseline.values()) - sum(found.variant.values())
    )
