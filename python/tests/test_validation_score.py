"""The arithmetic of errors, on figures whose answer is known, and both sides of each limit."""

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from scipy import stats

from live import FakeKernel, exactly
from loadstone import LoadstoneError, Outcome, Scenario
from loadstone.files import InputError
from loadstone.studies.validation import accuracy, agreement, score
from loadstone.studies.validation.accuracy import GROUPS, Goal, Row
from loadstone.studies.validation.grid import OBJECT, PAGE, Cell
from loadstone.studies.validation.measurements import Conditions, Load, Measured, Measurement, Source
from loadstone.studies.validation.score import Score, Validation

SMALL = Cell(OBJECT, "10KB", "10mbit,20ms,queue=100ms", "http/1.1", 1, 10, "cubic")
LOSSY = replace(SMALL, network="10mbit,20ms,loss=1%,queue=100ms")


def load(plt_ms: float) -> Load:
    return Load(plt_ms, 10, 5, 12_000, 400, 0, completed=True)


def scored(cell: Cell, measured: Sequence[float], simulated: Sequence[float]) -> Score:
    return Score(cell, tuple(map(load, measured)), tuple(map(load, simulated)))


# --- errors ---


def test_an_error_is_a_share_of_the_kernel_s_median() -> None:
    assert agreement.error(103.0, [90.0, 100.0, 200.0]) == pytest.approx(0.03)
    assert agreement.error(97.0, [100.0, 100.0]) == pytest.approx(-0.03)


@pytest.mark.parametrize(
    ("simulated", "expected"),
    # The kernel's repeats are 100, 102 and 110 ms: half a millisecond beyond them is forgiven.
    [(99.5, 0.0), (110.5, 0.0), (105.0, 0.0), (98.5, -1 / 102), (112.5, 2 / 102)],
)
def test_within_the_range_of_the_repeats_there_is_no_distance(simulated: float, expected: float) -> None:
    assert agreement.beyond_range(simulated, [102.0, 110.0, 100.0]) == pytest.approx(expected)


def test_percentiles_lie_between_neighbours_in_proportion() -> None:
    values = [30.0, 10.0, 20.0, 50.0, 40.0]
    assert [agreement.percentile(values, at) for at in (0.0, 0.5, 0.9, 1.0)] == [10.0, 30.0, 46.0, 50.0]
    assert agreement.percentile([7.0], 0.95) == 7.0


# --- distributions ---


def test_kolmogorov_and_smirnov_of_samples_that_are_apart() -> None:
    # Of all C(2n, n) orders of two samples of n, only two keep them fully apart.
    for count in (4, 5, 8):
        low, high = [float(at) for at in range(count)], [100.0 + at for at in range(count)]
        assert agreement.ks_p_value(low, high, 0.0) == pytest.approx(2 / math.comb(2 * count, count))
        assert agreement.ks_p_value(high, low, 0.0) == pytest.approx(2 / math.comb(2 * count, count))


def test_kolmogorov_and_smirnov_by_counting_all_orders() -> None:
    # Five and five, interleaved but for the ends: one side's largest distance is 3/5.
    first, second = [1.0, 2.0, 3.0, 6.0, 8.0], [4.0, 5.0, 7.0, 9.0, 10.0]

    def distance(chosen: Sequence[int]) -> float:
        steps = [1 if at in chosen else -1 for at in range(10)]
        return max(itertools.accumulate(steps))

    orders = list(itertools.combinations(range(10), 5))
    observed = distance([0, 1, 2, 5, 7])
    one_sided = sum(distance(order) >= observed for order in orders) / len(orders)
    assert observed == 3
    assert agreement.ks_p_value(first, second, 0.0) == pytest.approx(2 * one_sided)


def test_a_test_that_forgives_nothing_is_the_ordinary_one() -> None:
    draw = random.Random(3)
    for shift in (0.0, 0.5, 1.0):
        first = [draw.gauss(0, 1) for _ in range(30)]
        second = [draw.gauss(shift, 1) for _ in range(30)]
        ordinary = stats.ks_2samp(first, second, method="exact").pvalue
        # Twice a one-sided p-value counts orders that are far apart on both sides twice: rare ones.
        assert ordinary * 0.999 <= agreement.ks_p_value(first, second, 0.0) <= ordinary * 1.05


@pytest.mark.parametrize(
    ("late", "is_rejected"), [(0.49, False), (-0.49, False), (0.51, True), (-0.51, True)]
)
def test_half_a_millisecond_is_forgiven_to_times_that_are_one_number(late: float, is_rejected: bool) -> None:
    one = scored(LOSSY, [100.0] * 30, [100.0 + late] * 30)
    assert one.is_rejected == is_rejected
    assert one.same_distribution(allowed_ms=0.0) < 1e-9


def test_the_test_rejects_the_same_distribution_about_as_often_as_it_says() -> None:
    draw = random.Random(11)
    trials = 400
    rejected = sum(
        scored(LOSSY, *([draw.lognormvariate(6, 0.3) for _ in range(30)] for _ in range(2))).is_rejected
        for _ in range(trials)
    )
    # Exact tests are careful; four standard deviations of a binomial above 1 %.
    assert rejected <= trials * 0.01 + 4 * math.sqrt(trials * 0.01)


def test_spreads_are_compared_from_tenth_to_ninetieth_percentile() -> None:
    measured = [float(at) for at in range(0, 101, 10)]
    assert agreement.spread_deviation([at * 1.25 for at in measured], measured) == pytest.approx(19.5 / 80)
    assert agreement.spread_deviation([at * 0.75 for at in measured], measured) == pytest.approx(-19.5 / 80)
    assert agreement.spread_deviation([5.0] * 11, [5.0] * 11) == 0.0
    # Where the kernel's times hardly spread, half a millisecond is the measure.
    assert agreement.spread_deviation([0.0, 1.25], [5.0, 5.0]) == pytest.approx(1.0)


# --- rows ---


def rows(scores: Sequence[Score]) -> dict[str, dict[str, Row]]:
    groups = accuracy.grouped(scores).items()
    return {group.name: {row.key: row for row in accuracy.rows(group, members)} for group, members in groups}


@pytest.mark.parametrize(
    ("cell", "group", "median", "near", "share"),
    [
        (SMALL, "objects", 1.0, 5.0, 95),
        (replace(SMALL, cc="reno"), "objects", 1.0, 5.0, 95),
        (replace(SMALL, kind=PAGE, name="A"), "pages", 3.0, 8.0, 95),
        (replace(SMALL, cc="bbr"), "bbr", 5.0, 10.0, 90),
    ],
)
def test_rows_without_loss_are_met_up_to_their_limit(
    cell: Cell, group: str, median: float, near: float, share: int
) -> None:
    def judged(error: float, far: int) -> dict[str, Row]:
        """Judge 100 cells of which some are far off."""
        measured = [1_000_000.0, 1_000_000.0]
        at = 1_000_000.0 * (1 + error / 100)
        beyond = 1_000_000.0 * (1 + near / 100) + 0.6
        times = [beyond] * far + [at] * (100 - far)
        return rows([scored(cell, measured, [time]) for time in times])[group]

    assert judged(median, 0)["median_error"].is_met
    assert judged(-median, 0)["median_error"].is_met
    assert not judged(median + 0.001, 0)["median_error"].is_met
    assert judged(0.0, 100 - share)["near"].is_met
    assert not judged(0.0, 100 - share + 1)["near"].is_met


def test_rows_with_loss_are_met_up_to_their_limit() -> None:
    kernel = [1_000.0 * (1 + at / 100) for at in range(30)]

    def judged(change: float, spread: float = 1.0, far: int = 0) -> dict[str, Row]:
        middle = 1_145.0
        times = [middle + (time - middle) * spread + change * middle / 100 for time in kernel]
        cells = [scored(LOSSY, kernel, times)] * (100 - far)
        return rows([*cells, *[scored(LOSSY, kernel, [time + 500 for time in kernel])] * far])["loss"]

    assert judged(2.99)["signed_error"].is_met and judged(-2.99)["signed_error"].is_met
    assert not judged(3.01)["signed_error"].is_met and not judged(-3.01)["signed_error"].is_met
    # The kernel's spread is 232 ms, of which 0.5 are forgiven.
    assert judged(0, spread=1.25)["spread"].is_met and judged(0, spread=0.75)["spread"].is_met
    assert not judged(0, spread=1.26)["spread"].is_met and not judged(0, spread=0.74)["spread"].is_met
    assert judged(0, far=5)["rejected"].is_met
    assert not judged(0, far=6)["rejected"].is_met
    assert judged(0)["rejected_strictly"].is_met is None


def test_what_is_not_judged_has_figures_and_no_goals() -> None:
    measured, simulated = [1_000.0] * 30, [2_000.0]
    cells = [replace(SMALL, kind=PAGE, name="A", cc="bbr"), replace(LOSSY, cc="bbr")]
    judged = rows(
        [scored(cells[0], measured, simulated), scored(cells[1], measured, simulated * 30)],
    )
    assert set(judged) == {"bbr pages", "bbr loss"}
    assert all(row.is_met is None for group in judged.values() for row in group.values())
    assert judged["bbr pages"]["median_error"].figure == pytest.approx(100.0)


def test_the_goals_are_those_that_were_set() -> None:
    assert {group.name for group in GROUPS if group.is_judged} == {"objects", "pages", "loss", "bbr"}
    assert Goal.AT_LEAST.allows(95.0, 95.0) and not Goal.AT_LEAST.allows(94.99, 95.0)


def test_the_worst_cells_are_those_that_scatter_does_not_explain() -> None:
    wide = scored(SMALL, [100.0, 200.0], [190.0])
    off = scored(replace(SMALL, iw=3), [100.0, 101.0], [110.0])
    # With loss, the interval of the median: of 1, 2, ..., 30 the 10th to the 21st.
    chance = scored(LOSSY, [float(at) for at in range(1, 31)], [21.4] * 30)
    lossy = scored(replace(LOSSY, iw=3), [float(at) for at in range(1, 31)], [23.0] * 30)
    assert accuracy.worst([wide, off, chance, lossy], 2) == [lossy, off]
    assert (wide.miss, chance.miss) == (0.0, 0.0)
    assert lossy.miss == pytest.approx(1.5 / 15.5)


# --- simulating what was measured ---


def measured(cells: Sequence[Cell], runs: int, kernel: FakeKernel | None = None) -> Measured:
    kernel = kernel or FakeKernel()
    made = [
        Measurement(one, seed, Load.of(kernel(one.scenario(), seed)), Conditions(0.0, 0.05, 0.1))
        for one in cells
        for seed in range(1, runs + 1)
    ]
    return Measured(Source("6.18.44"), made)


def silent(done: int, total: int) -> None:
    pass


def test_a_kernel_that_is_the_simulator_meets_every_goal() -> None:
    page = Cell(PAGE, "A", "10mbit,20ms,queue=100ms", "h2", 1, 10, "reno")
    cells = [SMALL, replace(SMALL, iw=3), page, LOSSY]
    validation = score.score(measured(cells, 30, FakeKernel(exactly)), cells, silent)
    assert [one.cell for one in validation.scores] == sorted(cells, key=repr)
    # One load where nothing is random, otherwise one for each of the kernel's seeds.
    assert {len(one.simulated) for one in validation.scores} == {1, 30}
    judged = rows(validation.scores)
    assert set(judged) == {"objects", "pages", "loss"}
    assert all(row.is_met is not False for group in judged.values() for row in group.values())
    assert all(one.error == 0.0 for one in validation.scores)


def test_a_kernel_that_is_slower_is_found_out() -> None:
    slower = FakeKernel(lambda ms, _: 1.2 * ms)
    cells = [SMALL, LOSSY]
    judged = rows(score.score(measured(cells, 30, slower), cells, silent).scores)
    assert not judged["objects"]["median_error"].is_met and not judged["objects"]["near"].is_met
    assert judged["objects"]["median_error"].figure == pytest.approx(100 * (1 - 1 / 1.2))
    assert not judged["loss"]["signed_error"].is_met and not judged["loss"]["rejected"].is_met


def test_cells_with_too_few_runs_are_not_scored() -> None:
    def unfinished(cell: Cell, runs: int) -> bool:
        return cell in score.score(measured([cell], runs), [cell], silent).unfinished

    assert [unfinished(SMALL, 1), unfinished(SMALL, 2)] == [True, False]
    assert [unfinished(LOSSY, 29), unfinished(LOSSY, 30)] == [True, False]


def test_a_control_that_is_not_simulated_is_measured_and_not_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    run_many = score.run_many

    def refusing(jobs: Sequence[tuple[Scenario, int]]) -> list[Outcome]:
        if any('"cc":"reno"' in scenario.to_json().split("client")[0] for scenario, _ in jobs):
            raise LoadstoneError("reno is not simulated", "variant.tcp.cc")
        return run_many(jobs)

    cells = [SMALL, replace(SMALL, cc="reno")]
    figures = measured(cells, 2)
    monkeypatch.setattr(score, "run_many", refusing)
    validation = score.score(figures, cells, silent)
    assert [one.cell for one in validation.scores] == [SMALL]
    assert validation.not_modelled == [cells[1]]


def test_a_control_that_the_engine_cannot_even_name_is_not_modelled() -> None:
    unknown = replace(SMALL, cc="vegas")
    known = measured([SMALL], 2)
    made = [replace(one, cell=unknown) for one in known.measurements]
    validation = score.score(Measured(known.source, made), [unknown], silent)
    assert (validation.scores, validation.not_modelled) == ([], [unknown])


def test_any_other_refusal_is_an_error() -> None:
    wrong = replace(SMALL, iw=0)
    known = measured([SMALL], 2)
    made = [replace(one, cell=wrong) for one in known.measurements]
    with pytest.raises(InputError, match=r"cannot be simulated: .*1 to 1000"):
        score.score(Measured(known.source, made), [wrong], silent)


# --- what was accepted ---


def validation_of(error: float, cells: int = 20) -> Validation:
    windows = range(1, cells + 1)
    scores = [
        scored(replace(SMALL, iw=iw), [1_000.0, 1_000.0], [1_000.0 * (1 + error / 100)]) for iw in windows
    ]
    return Validation(Measured(Source("6.18.44"), []), scores, [], [], "textbook")


@pytest.fixture
def accepted(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "ACCEPTED", tmp_path / "accuracy.json")
    accuracy.accept(accuracy.of(validation_of(-0.5)))


@pytest.mark.usefixtures("accepted")
def test_accuracy_may_get_better_but_not_worse() -> None:
    assert accuracy.worse(accuracy.of(validation_of(0.5))) == []
    assert accuracy.worse(accuracy.of(validation_of(0.4))) == []
    # A step of the last digit is rounding, two are not.
    assert accuracy.worse(accuracy.of(validation_of(0.51))) == []
    worse = accuracy.worse(accuracy.of(validation_of(0.52)))
    assert worse[0] == "objects: p50 0.5, now 0.52" and len(worse) == 4


@pytest.mark.usefixtures("accepted")
def test_cells_that_are_lost_are_worse_too() -> None:
    assert accuracy.worse(accuracy.of(validation_of(0.5, cells=19))) == ["objects: cells 20, now 19"]
    assert accuracy.worse({}) == ["objects: no cell is left"]
    assert accuracy.worse(accuracy.of(validation_of(0.5, cells=21))) == []


@pytest.mark.usefixtures("accepted")
def test_fewer_cells_near_the_kernel_s_range_are_worse() -> None:
    accuracy.accept({"objects": {"near": 97.0}, "loss": {"signed_error": -1.0}})
    assert accuracy.worse({"objects": {"near": 96.99}, "loss": {"signed_error": 1.0}}) == []
    worse = accuracy.worse({"objects": {"near": 96.98}, "loss": {"signed_error": 1.02}})
    assert worse == ["objects: near 97, now 96.98", "loss: signed_error -1, now 1.02"]


def test_nothing_accepted_is_no_pass(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "ACCEPTED", tmp_path / "accuracy.json")
    assert accuracy.worse({}) == ["none was accepted yet"]
