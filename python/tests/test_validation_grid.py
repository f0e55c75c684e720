"""The grid: what is in it, and that what is left out leaves nothing unseen."""

import itertools
import json
from collections import Counter
from dataclasses import replace

import pytest

from loadstone import run_many
from loadstone.files import InputError
from loadstone.studies.validation import grid
from loadstone.studies.validation.grid import FACTORS, FULL, LOSSY_RUNS, OBJECT, PAGE, QUICK, Cell, Grid

LOSSY = [cell for cell in FULL.cells if cell.is_random]
EXACT = [cell for cell in FULL.cells if not cell.is_random]


def levels(cells: list[Cell] | tuple[Cell, ...], factor: str) -> Counter[str]:
    return Counter(cell.factors[factor] for cell in cells)


def test_without_loss_the_full_grid_is_the_whole_product() -> None:
    # Sizes, or pages times ways to load them; rates, round trips, windows, controls, queues.
    assert len(EXACT) == (8 + 3 * 2) * 3 * 3 * 4 * 3 * 2
    assert len(set(EXACT)) == len(EXACT)
    assert len(FULL.runs()) == 3 * len(EXACT) + LOSSY_RUNS * len(LOSSY)


@pytest.mark.parametrize("kind", [OBJECT, PAGE])
def test_with_loss_every_two_levels_of_two_factors_still_meet(kind: str) -> None:
    lossy, exact = ([cell for cell in cells if cell.kind == kind] for cells in (LOSSY, EXACT))
    for first, second in itertools.combinations([name for name in FACTORS if name != "loss"], 2):
        met, all_ = (
            {(cell.factors[first], cell.factors[second]) for cell in cells} for cells in (lossy, exact)
        )
        assert met == all_, (first, second)


@pytest.mark.parametrize("factor", FACTORS)
def test_the_quick_grid_is_a_part_of_the_full_one_and_has_every_level(factor: str) -> None:
    assert set(QUICK.cells) <= set(FULL.cells)
    assert set(levels(QUICK.cells, factor)) == set(levels(FULL.cells, factor))
    if factor != "name":
        lossy = [cell for cell in QUICK.cells if cell.is_random]
        assert set(levels(lossy, factor)) == set(levels(LOSSY, factor))


@pytest.mark.parametrize(("name", "at_once", "hours"), [("QUICK", 6, 2 / 60), ("FULL", 8, 3)])
def test_the_grids_take_the_time_that_is_said(name: str, at_once: int, hours: float) -> None:
    chosen: Grid = getattr(grid, name)
    # BBR is about as fast as CUBIC; 30 ms are what it takes to set a bed up.
    cells = [replace(cell, cc="cubic") if cell.cc == "bbr" else cell for cell in chosen.cells]
    outcomes = run_many([(cell.scenario(), 1) for cell in cells])
    each = {cell: outcome.plt_ms + 30 for cell, outcome in zip(chosen.cells, outcomes, strict=True)}
    assert sum(each[cell] for cell, _ in chosen.runs()) / at_once / 3_600_000 <= hours


@pytest.mark.parametrize("factor", FACTORS)
def test_any_beginning_of_the_runs_is_a_fair_sample(factor: str) -> None:
    cells = list(dict.fromkeys(cell for cell, _ in FULL.runs()))
    beginning = levels(cells[: len(cells) // 4], factor)
    for level, count in levels(cells, factor).items():
        # Four standard deviations of a binomial, and more is left of what is rare.
        assert abs(beginning[level] - count / 4) <= 4 * (count * 0.25 * 0.75) ** 0.5, level


def test_runs_come_cell_by_cell_with_seeds_from_one() -> None:
    runs = QUICK.runs()
    for cell, of_cell in itertools.groupby(runs, key=lambda run: run[0]):
        assert [seed for _, seed in of_cell] == list(range(1, (30 if cell.is_random else 2) + 1))
    assert len({cell for cell, _ in runs}) == sum(1 for _ in itertools.groupby(runs, key=lambda run: run[0]))
    assert runs == Grid(QUICK.cells[::-1], QUICK.repeats).runs()


def test_a_scenario_says_what_its_cell_says() -> None:
    cell = Cell(PAGE, "B", "10mbit,200ms,loss=1%,queue=1000p", "h2", 1, 32, "reno")
    scenario = json.loads(cell.scenario().to_json())
    assert scenario["network"] == "10mbit,200ms,loss=1%,queue=1000p"
    assert len(scenario["page"]["objects"]) == 101
    variant = scenario["variant"]
    assert (variant["protocol"], variant["connections"], variant["tls"]) == ("h2", 1, "none")
    assert (variant["tcp"]["iw"], variant["tcp"]["cc"]) == (32, "reno")
    assert cell.scenario().is_random == cell.is_random
    small = Cell(OBJECT, "30KB", "1mbit,20ms,queue=100ms", "http/1.1", 1, 3, "cubic")
    page = json.loads(small.scenario().to_json())["page"]
    assert [(item["url"], item["bytes"]) for item in page["objects"]] == [("http://a.test/", 30_000)]
    assert small.scenario().is_random == small.is_random


def test_filters_choose_by_all_their_levels_and_add_up() -> None:
    both = QUICK.only(["cc=bbr,loss=1%"]).cells
    assert both and all((cell.cc, cell.factors["loss"]) == ("bbr", "1%") for cell in both)
    either = QUICK.only(["cc=bbr", "loss=1%"]).cells
    assert set(either) == {cell for cell in QUICK.cells if cell.cc == "bbr" or cell.is_random}
    assert QUICK.only([]) == QUICK


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("colour=red", "factors are kind, name"),
        ("bbr", "no FACTOR=LEVEL"),
        ("cc=vegas", "use reno, cubic, bbr"),
        ("kind=object,protocol=h2", "ask for less"),
    ],
)
def test_a_filter_that_chooses_nothing_says_what_there_is(wrong: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        FULL.only([wrong])
