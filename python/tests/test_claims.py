"""Claims: what becomes of them by chance, by assumptions, and in altered outcomes."""

import csv
import dataclasses
import io
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from loadstone.files import InputError
from loadstone.reproduce import claims, study_report
from loadstone.reproduce.altered import FAMILY
from loadstone.reproduce.claims import Verdict
from loadstone.reproduce.evidence import AS_STATED, Evidence
from loadstone.reproduce.judge import Figure, Judge, above
from loadstone.reproduce.study import Cell, Results

HEAD = "id,kind,says,relation,value,most,unit,conditions,section,turned_by\n"


def study(folder: Path, *claims: str) -> Path:
    (folder / "claims.csv").write_text(HEAD + "".join(f"{claim}\n" for claim in claims))
    return folder


def loads(gain: float, scatter: float = 0.0, pages: Sequence[str] = ("small", "large")) -> Evidence:
    """Give loads of two variants; the second one is faster by `gain`, but for what chance adds."""

    def run(seeds: int, assumption: str) -> pl.DataFrame:
        own = gain if assumption == AS_STATED else 1 / gain
        chance = np.random.default_rng(1).normal(0, scatter, (2000, len(pages), 2))
        rows = [
            {
                "page": page,
                "variant": name,
                "seed": seed + 1,
                "plt_ms": 100 * (at + 1) * (1 / own if place else 1) * float(np.exp(chance[seed, at, place])),
            }
            for seed in range(seeds if scatter else 1)
            for at, page in enumerate(pages)
            for place, name in enumerate(("old", "new"))
        ]
        return pl.DataFrame(rows)

    return Evidence(run)


def mean_gain(runs: pl.DataFrame) -> float:
    means = {name: own["plt_ms"].mean() for (name,), own in runs.group_by("variant")}
    return float(means["old"] / means["new"])  # type: ignore[operator]


def is_faster(runs: pl.DataFrame) -> list[Figure]:
    return [above("gain", mean_gain(runs), 1)]


FASTER = "C1,finding,new is faster,direction,,,,,1,equal inverted"


@pytest.mark.parametrize(("gain", "verdict"), [(1.5, Verdict.CONFIRMED), (0.8, Verdict.CONTRADICTED)])
def test_a_finding_without_chance_is_what_came_out(tmp_path: Path, gain: float, verdict: Verdict) -> None:
    judge = Judge(study(tmp_path, FASTER))
    judge.finding("C1", loads(gain), is_faster)
    [one] = judge.judged()
    assert (one.verdict, one.ours) == (verdict, f"gain {gain:.2f}")
    assert one.holds == (gain > 1) and not one.survives
    assert one.altered["inverted"] == (gain < 1)


def test_chance_that_hides_a_gain_leaves_it_undecided_and_more_seeds_decide_it(tmp_path: Path) -> None:
    evidence = loads(1.015, scatter=0.1)
    for most, verdict in ((20, Verdict.UNDECIDED), (None, Verdict.CONFIRMED)):
        judge = Judge(study(tmp_path, FASTER), most=most)
        judge.finding("C1", evidence, is_faster)
        [one] = judge.judged()
        assert one.verdict is verdict
        assert ("chance turns it in" in one.why) == (verdict is Verdict.UNDECIDED)


def test_where_nothing_differs_chance_decides_little_though_one_looks_three_times(
    tmp_path: Path,
) -> None:
    wrong = 0
    for laboratory in range(30):
        chance = np.random.default_rng(1000 + laboratory).normal(0, 0.1, (80, 2))

        def run(seeds: int, assumption: str, chance: np.ndarray = chance) -> pl.DataFrame:
            numbers = np.tile(np.arange(seeds), 2)
            names = np.repeat(["old", "new"], seeds)
            times = np.exp(chance[:seeds].T.ravel())
            return pl.DataFrame({"variant": names, "seed": numbers, "plt_ms": times})

        judge = Judge(study(tmp_path, FASTER))
        judge.finding("C1", Evidence(run, most=80), is_faster)
        wrong += judge.judged()[0].verdict is not Verdict.UNDECIDED
    assert wrong <= 5, "5 % at most are expected; more than 5 of 30 once in 300 times"


def test_a_verdict_that_turns_with_an_assumption_is_undecided(tmp_path: Path) -> None:
    evidence = Evidence(loads(1.5).run, assumptions=("the other way round",))
    judge = Judge(study(tmp_path, FASTER))
    judge.finding("C1", evidence, is_faster)
    [one] = judge.judged()
    assert (one.verdict, one.why) == (
        Verdict.UNDECIDED,
        "turns with 1 of 1 assumptions: the other way round",
    )


def test_what_waits_for_something_is_undecided_whatever_comes_out(tmp_path: Path) -> None:
    judge = Judge(study(tmp_path, FASTER))
    judge.finding("C1", loads(1.5), is_faster, until="recorded pages decide it")
    [one] = judge.judged()
    assert (one.verdict, one.ours) == (Verdict.UNDECIDED, "gain 1.50")
    assert one.why == "recorded pages decide it" and not one.survives


@pytest.mark.parametrize(
    ("claim", "low", "high"),
    [
        ("C1,number,n,eq,8,,ms,,1,", 6, 10),
        ("C1,number,n,upto,8,,ms,,1,", 6, 10),
        ("C1,number,n,range,8,12,ms,,1,", 6, 15),
        ("C1,number,n,ge,8,,ms,,1,", 8, 10),
        ("C1,number,n,le,8,,ms,,1,", 6, 8),
        ("C1,number,n,share,80,,%,,1,", 75, 85),
        ("C1,number,n,share,20,40,%,,1,", 15, 50),
        ("C1,number,n,exactly,8,,ms,,1,", 8, 8),
        ("C1,number,n,gain,2,,,,1,", 1.5, 2.5),
        ("C1,number,n,gain,1.25,,,,1,", 1, 1.5625),
        ("C1,number,n,gain,0.9,,,,1,", 0.675, 1),
        ("C1,number,n,gain,1,,,,1,", 0.75, 1.25),
    ],
)
def test_the_bounds_of_a_number_have_two_sides(tmp_path: Path, claim: str, low: float, high: float) -> None:
    assert claims.read(study(tmp_path, claim))["C1"].bounds == (low, high)


def test_what_is_equal_but_for_rounding_is_not_more() -> None:
    assert not above("gain", 1 + 1e-15, 1).is_within(1 + 1e-15)
    assert above("gain", 1.0001, 1).is_within(1.0001)
    assert Figure("count", 6, 6, 6).is_within(6 - 1e-15)
    assert not Figure("count", 6, 6, 6).is_within(6.001)


def test_altered_outcomes_change_what_levels_are_worth_and_nothing_else() -> None:
    evidence = loads(2, scatter=0.01)
    runs = evidence.loads(50)
    other = dict(evidence.altered(runs))
    gains = {name: round(mean_gain(frame), 1) for name, frame in other.items() if name != "permuted"}
    assert gains == {"equal": 1, "inverted": 0.5, "halved": 1.4, "doubled": 4}
    assert sorted(other["permuted"]["plt_ms"]) == sorted(runs["plt_ms"])
    for frame in other.values():
        assert frame.drop("plt_ms").equals(runs.drop("plt_ms"))
        assert float(frame["plt_ms"].log().mean()) == pytest.approx(float(runs["plt_ms"].log().mean()))  # type: ignore[arg-type]


def test_counts_of_zero_are_altered_as_differences() -> None:
    runs = pl.DataFrame({"variant": ["old", "new"], "seed": [1, 1], "losses": [0, 4]})
    evidence = Evidence(lambda seeds, assumption: runs, ("losses",))
    altered = {name: frame["losses"].to_list() for name, frame in evidence.altered(runs)}
    assert altered["equal"] == [2, 2]
    assert altered["inverted"] == [4, 0]
    assert altered["doubled"] == [-2, 6]


def test_a_list_that_names_an_outcome_that_is_not_in_the_family_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2: turned_by: write some of " + ", ".join(FAMILY)):
        claims.read(study(tmp_path, "C1,finding,f,direction,,,,,1,tripled"))


def test_a_claim_that_cannot_fail_is_found_out(tmp_path: Path) -> None:
    judge = Judge(study(tmp_path, FASTER))
    judge.finding("C1", loads(1.5), lambda runs: [above("gain", mean_gain(runs), 0)])
    [one] = judge.judged()
    assert one.verdict is Verdict.CONFIRMED and one.survives == {"equal", "inverted"}


def test_who_looked_before_says_the_same_figure_with_a_wider_interval(tmp_path: Path) -> None:
    said = []
    for first in (20, 80):
        judge = Judge(study(tmp_path, FASTER))
        judge.finding("C1", dataclasses.replace(loads(1.0, 0.1), seeds=first, most=80), is_faster)
        said.append([float(each) for each in re.findall(r"[\d.]+", judge.judged()[0].ours)])
    (often, low, high), (once, above_low, below_high) = said
    assert often == once and low < above_low < once < below_high < high


def test_every_number_stands_beside_ours_or_says_why_not(tmp_path: Path) -> None:
    folder = study(
        tmp_path,
        "A1,number,gain,gain,2,,gain,,4,equal",
        "A2,number,load time,eq,7,,s,,4,",
        "A3,setup,objects,eq,9,,objects,,3,",
        "A4,finding,it is faster,direction,,,,,5,equal",
    )
    judge = Judge(folder)
    judge.number("A1", loads(2.5), mean_gain)
    judge.not_testable("A2", "their machine is gone")
    judge.set_up("A3", "9 objects")
    judge.finding("A4", loads(2.5), is_faster)
    cell = Cell({"page": "small"}, "new", 3.0, 2.0, "ms")
    written = study_report.cells_csv(Results([cell], [], judge.judged()))
    lines = list(csv.DictReader(io.StringIO(written)))
    names = ("claim", "page", "variant", "published", "ours", "left_out")
    assert [tuple(line[name] for name in names) for line in lines] == [
        ("", "small", "new", "3.0", "2.0", ""),
        ("A1", "", "gain", "2.0", "2.5", ""),
        ("A2", "", "load time", "7.0", "", "their machine is gone"),
        ("A3", "", "objects", "9.0", "", "it was put in"),
    ]


def test_only_what_the_list_calls_a_set_up_is_one(tmp_path: Path) -> None:
    judge = Judge(study(tmp_path, "A1,number,gain,gain,2,,gain,,4,equal"))
    with pytest.raises(ValueError, match="A1"):
        judge.set_up("A1", "2")
