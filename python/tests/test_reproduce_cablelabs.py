"""The study cablelabs run again: everything is there, and what was found holds."""

import csv
import io
import re
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest

import matrices
from conftest import Command, verdicts_said
from loadstone.files import InputError
from loadstone.reproduce import evidence, study_report
from loadstone.reproduce.claims import Verdict, rows
from loadstone.reproduce.study import STUDIES, Results, Runner
from loadstone.studies import cablelabs
from loadstone.studies.cablelabs import assumptions, explanations, laboratory, slow_start, tables
from loadstone.studies.cablelabs.laboratory import (
    BASE,
    BOTH,
    COLUMNS,
    SPDY,
    WIN7,
    WINDOW,
    WINXP,
    Laboratory,
)
from loadstone.studies.cablelabs.loads import Loads


@pytest.fixture(scope="module")
def runner() -> Runner:
    return Runner(None, lambda done, total: None)


@pytest.fixture(scope="module")
def found(runner: Runner) -> Laboratory:
    return laboratory.measure(runner)


@pytest.fixture(scope="module")
def results(found: Laboratory, runner: Runner) -> Results:
    """Judge all claims by few seeds, and hold those about the laboratory against no assumptions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "DRAWS", 20)
        return cablelabs.study(found, Loads(runner, held_against=()), most=5)


def kept_verdicts() -> dict[str, str]:
    """Give the verdict of each claim that the study's page lists."""
    said = (STUDIES / "cablelabs" / "README.md").read_text()
    lines = re.findall(r"^- \*\*(.+?)\*\* \(\d+\): (.+?)\.$", said, re.MULTILINE | re.DOTALL)
    return {id: verdict for verdict, ids in lines for id in re.findall(r"CL\d+", ids)}


def test_every_claim_of_the_list_is_judged_and_says_why_where_it_is_not_decided(results: Results) -> None:
    listed = [row["id"] for row in rows(STUDIES / "cablelabs" / "claims.csv")]
    assert [judged.claim.id for judged in results.judged] == listed
    for judged in results.judged:
        assert judged.why or judged.verdict not in (Verdict.NOT_TESTABLE, Verdict.UNDECIDED), judged.claim.id


def test_every_claim_that_holds_is_turned_by_the_outcomes_that_it_names(results: Results) -> None:
    assert not {one.claim.id: one.survives for one in results.judged if one.survives}
    assert all(one.claim.turned_by for one in results.judged if one.altered)


def test_few_seeds_turn_no_verdict_of_the_study_s_page_to_its_opposite(results: Results) -> None:
    kept, decided = kept_verdicts(), {Verdict.CONFIRMED.value, Verdict.CONTRADICTED.value}
    assert {*kept} == {one.claim.id for one in results.judged}
    for one in results.judged:
        ours, theirs = one.verdict.value, kept[one.claim.id]
        assert ours == theirs or not {ours, theirs} <= decided, one.claim.id
        assert (ours == Verdict.SET_UP.value) == (theirs == Verdict.SET_UP.value), one.claim.id


def test_every_assumption_changes_the_laboratory(runner: Runner) -> None:
    matrix = Loads(runner).matrix
    for name, assumed in assumptions.LEFT_OPEN.items():
        assert assumed.matrix(matrix) != matrix or assumed.browser_ms != assumptions.BROWSER_MS, name


def test_more_seeds_go_on_where_fewer_have_ended(runner: Runner) -> None:
    loads = Loads(runner)
    only = {"page": ["synthetic:A"], "servers": [1], "link": ["10/1mbit"], "rtt": [20], "loss": [1]}
    few, many = (loads.frame((SPDY,), seeds, only=only) for seeds in (20, 40))
    assert sorted(many["seed"]) == list(range(1, 41))
    assert many.filter(pl.col("seed") <= 20).equals(few)


def test_a_change_of_the_laboratory_that_changes_nothing_is_refused(runner: Runner) -> None:
    matrix = runner.matrix(STUDIES / "cablelabs" / "matrix.toml")
    with pytest.raises(InputError, match="there is no '50p,' in"):
        assumptions.with_network(matrix, "50p,", "100p,")
    with pytest.raises(InputError, match="tls_version is not set"):
        assumptions.without(matrix, {"tls_version": None}, {})
    with pytest.raises(InputError, match=r"variant\.work\.us is not set"):
        assumptions.without(matrix, {}, {"variant.work.us": None})
    assert (
        "variant.work.response_us" not in assumptions.without(matrix, {}, assumptions.NO_WORK).variants[SPDY]
    )


def test_the_list_begins_with_the_studys_own_claims() -> None:
    theirs = [row for row in matrices.published("cablelabs-claims") if row["scope"] == "lab"]
    ours = rows(STUDIES / "cablelabs" / "claims.csv")
    names = {"id": "id", "value": "value", "value_hi": "most", "unit": "unit"}
    assert [{new: row[old] for old, new in names.items()} for row in theirs] == [
        {new: row[new] for new in names.values()} for row in ours[: len(theirs)]
    ]


def test_there_is_a_line_for_each_published_time(results: Results) -> None:
    lines = list(csv.DictReader(io.StringIO(study_report.cells_csv(results))))
    lines = [line for line in lines if not line["claim"]]
    gains = [line for line in lines if line["unit"] != "ms"]
    lines = [line for line in lines if line["unit"] == "ms"]
    assert len(lines) == 72 * 4 + 36 * 2 + 9 * 2
    columns = "claim page servers down_mbps rtt_ms loss_pct client variant published ours unit sound left_out"
    assert list(lines[0]) == columns.split()
    assert sum(line["sound"] == "0" for line in lines) == 24 * 4
    assert {line["variant"] for line in lines} == set(COLUMNS)
    assert all(float(line["ours"]) > 0 for line in lines)
    # Tables 5 to 10 share their overall figures; then two counts and a mean of table 11.
    assert len(gains) == 3 * (3 * (16 + 27 - 1) + 3)
    best = next(line for line in gains if line["page"] == "A" and line["servers"] == "1")
    assert (best["variant"], best["published"]) == (f"{SPDY}: max gain", "4.088")


def test_tables_1_and_5_to_11_and_figure_3_are_there(results: Results) -> None:
    names = {table.name for table in results.tables}
    assert names >= {f"table-{number}" for number in (1, 5, 6, 7, 8, 9, 10, 11)} | {"figure-3", "scores"}


def test_load_times_are_the_studys_within_a_quarter_at_the_median(found: Laboratory) -> None:
    assert tables.of_times(found.sound(WIN7)) <= tables.TIME_ERROR
    assert tables.of_times(found.sound(WINXP)) <= tables.TIME_ERROR


@pytest.mark.parametrize(("option", "page"), [(SPDY, "A"), (SPDY, "C"), (WINDOW, "C"), (BOTH, "C")])
def test_four_of_nine_kinds_of_gains_are_near_the_studys(found: Laboratory, option: str, page: str) -> None:
    """Under each of 30 other sets of 20 seeds too; of page A those of both are in 7 of 10."""
    score = tables.score(tables.pairs_of(found, page, option), option)
    assert score.is_near, score


@pytest.mark.parametrize("page", ["A", "C"])
def test_spdys_gains_are_nearer_than_no_gain_at_all(found: Laboratory, page: str) -> None:
    pairs = tables.pairs_of(found, page, SPDY)
    ones = tables.Score.of([pair.gains(SPDY)[0] for pair in pairs], [1.0] * len(pairs))
    assert tables.score(pairs, SPDY).error < ones.error / 2


def test_a_score_knows_error_and_order() -> None:
    score = tables.Score.of([1.0, 2.0, 4.0], [2.0, 2.0, 8.0])
    assert score.error == pytest.approx(0.693, abs=0.001)
    assert score.rank == pytest.approx(0.866, abs=0.001)
    assert tables.Score.of([1.0, 2.0], [1.0, 1.0]).rank is None


def test_the_server_kept_no_connection_alive(runner: Runner) -> None:
    """102 objects over HTTPS at 100 ms took 8.7 s: with connections that stay they would take a third."""
    matrix = runner.matrix(STUDIES / "cablelabs" / "matrix.toml")
    one = {"page": ["synthetic:A"], "servers": [1], "link": ["10/1mbit"], "rtt": [100], "loss": [0]}
    kept = {name: value for name, value in matrix.variants[BASE].items() if name != "requests_per_connection"}
    both = replace(matrix, factors=one, variants={BASE: matrix.variants[BASE], "kept": kept})
    closed, kept_ms = laboratory.in_study_terms(runner.runs(both))["plt_ms"].to_list()
    assert closed == pytest.approx(8692, rel=0.1)
    assert kept_ms < 0.45 * closed


def test_page_c_waits_for_the_processor_only_where_the_link_does_not_send(
    found: Laboratory, runner: Runner
) -> None:
    """Its work of 1.5 s overlaps what is sent: a load without it is quicker by a fifth of it at most."""
    loads = explanations.measure_page_c(found, runner)
    assert len(loads) == 8
    one = {place[1:]: load for place, load in loads.items() if place[0] == 1}
    for load in one.values():
        assert 100 < load.by_work < 350
    for rate in (10, 20):
        near, far = one[rate, 20], one[rate, 100]
        assert near.spdy[1] > near.https[1] > near.no_work, "at 20 ms it turns the order"
        assert far.spdy[1] < far.https[1], "at 100 ms SPDY is quicker here"
        assert near.beyond > 3 * near.by_work, "what the study has beyond is no small thing"


def test_from_two_servers_page_c_is_slow_because_slow_start_ends_early(
    found: Laboratory, runner: Runner
) -> None:
    for (servers, _, rtt), load in explanations.measure_page_c(found, runner).items():
        if (servers, rtt) == (2, 100):
            assert load.by_start > load.slower[1] / 2


def test_table_1_doubles() -> None:
    assert [row[3:] for row in slow_start.table().rows] == [["0", "0"], ["1", "1"], ["2", "3"], ["4", "7"]]
    assert [slow_start.data_rounds(segments, 3) for segments in (1, 3, 4, 9, 10, 21, 22)] == [
        1,
        1,
        2,
        2,
        3,
        3,
        4,
    ]


def test_eleven_kilobytes_take_four_round_trips_because_acknowledgements_are_delayed(runner: Runner) -> None:
    point = slow_start.at(slow_start.measure(runner), 11)
    calculated, simulated = point.calculated[0], point.simulated[0]
    assert (calculated // 100, simulated // 100) == (3, 4), "the doubling of table 1 needs three"


def test_the_command_knows_the_study(loadstone: Command) -> None:
    assert "cablelabs" in loadstone("reproduce", "--help").out
    assert "cablelabs" in loadstone("reproduce", "nothing").err


def test_readme_counts_the_verdicts_of_the_study_s_page() -> None:
    kept, said = Counter(kept_verdicts().values()), verdicts_said("cablelabs")
    assert {verdict: kept[verdict] for verdict in said} == said
