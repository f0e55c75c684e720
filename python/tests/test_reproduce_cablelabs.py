"""The study cablelabs run again: everything is there, and what was found holds."""

import csv
import io
from collections import Counter
from dataclasses import replace

import pytest

import matrices
from conftest import ROOT, Command, verdicts_said
from loadstone.reproduce import cablelabs, report
from loadstone.reproduce.cablelabs import laboratory, scores, slow_start
from loadstone.reproduce.cablelabs.laboratory import (
    BASE,
    BOTH,
    COLUMNS,
    SPDY,
    WIN7,
    WINDOW,
    WINXP,
    Laboratory,
)
from loadstone.reproduce.claims import Verdict
from loadstone.reproduce.results import Results
from loadstone.reproduce.study import Runner


@pytest.fixture(scope="module")
def runner() -> Runner:
    return Runner(None, lambda done, total: None)


@pytest.fixture(scope="module")
def found(runner: Runner) -> Laboratory:
    return laboratory.measure(runner)


@pytest.fixture(scope="module")
def results(found: Laboratory, runner: Runner) -> Results:
    patched = pytest.MonkeyPatch()
    patched.setattr(cablelabs, "measure", lambda _: found)
    made = cablelabs.run(runner)
    patched.undo()
    return made


def test_every_claim_that_a_laboratory_can_test_has_a_verdict_and_reasons(results: Results) -> None:
    assert len(results.judged) == 39
    for judged in results.judged:
        if judged.verdict is Verdict.NOT_TESTABLE:
            assert judged.why, judged.claim.id
    verdicts = {judged.claim.id: judged.verdict for judged in results.judged}
    assert verdicts["CL38"] is Verdict.CONFIRMED, "SPDY is slower on page C"
    assert verdicts["CL42"] is Verdict.CONFIRMED, "without loss its gain grows with the round trip"
    assert verdicts["CL43"] is Verdict.CONFIRMED, "with loss it falls"


def test_the_list_of_claims_is_the_studys_own() -> None:
    theirs = [row for row in matrices.published("cablelabs-claims") if row["scope"] == "lab"]
    with (ROOT / "studies/cablelabs/claims.csv").open(encoding="utf-8") as file:
        ours = list(csv.DictReader(file))
    names = {"id": "id", "relation": "relation", "value": "value", "value_hi": "most", "unit": "unit"}
    assert [{new: row[old] for old, new in names.items()} for row in theirs] == [
        {new: row[new] for new in names.values()} for row in ours
    ]


def test_there_is_a_line_for_each_published_time(results: Results) -> None:
    lines = list(csv.DictReader(io.StringIO(report.cells_csv(results))))
    assert len(lines) == 72 * 4 + 36 * 2 + 9 * 2
    columns = "page servers down_mbps rtt_ms loss_pct client variant published ours unit sound"
    assert list(lines[0]) == columns.split()
    assert sum(line["sound"] == "0" for line in lines) == 24 * 4
    assert {line["variant"] for line in lines} == set(COLUMNS)
    assert all(float(line["ours"]) > 0 for line in lines)


def test_tables_1_and_5_to_11_and_figure_3_are_there(results: Results) -> None:
    names = {table.name for table in results.tables}
    assert names >= {f"table-{number}" for number in (1, 5, 6, 7, 8, 9, 10, 11)} | {"figure-3", "scores"}


def test_load_times_are_the_studys_within_a_quarter_at_the_median(found: Laboratory) -> None:
    assert scores.of_times(found.sound(WIN7)) <= scores.TIME_ERROR
    assert scores.of_times(found.sound(WINXP)) <= scores.TIME_ERROR


@pytest.mark.parametrize(
    ("option", "page"), [(SPDY, "A"), (SPDY, "C"), (WINDOW, "C"), (BOTH, "A"), (BOTH, "C")]
)
def test_five_of_nine_kinds_of_gains_are_near_the_studys(found: Laboratory, option: str, page: str) -> None:
    score = scores.score(scores.pairs_of(found, page, option), option)
    assert score.is_near, score


@pytest.mark.parametrize("page", ["A", "C"])
def test_spdys_gains_are_nearer_than_no_gain_at_all(found: Laboratory, page: str) -> None:
    pairs = scores.pairs_of(found, page, SPDY)
    ones = scores.Score.of([pair.gains(SPDY)[0] for pair in pairs], [1.0] * len(pairs))
    assert scores.score(pairs, SPDY).error < ones.error / 2


def test_a_score_knows_error_and_order() -> None:
    score = scores.Score.of([1.0, 2.0, 4.0], [2.0, 2.0, 8.0])
    assert score.error == pytest.approx(0.693, abs=0.001)
    assert score.rank == pytest.approx(0.866, abs=0.001)
    assert scores.Score.of([1.0, 2.0], [1.0, 1.0]).rank is None


def test_the_server_kept_no_connection_alive(runner: Runner) -> None:
    """102 objects over HTTPS at 100 ms took 8.7 s: with connections that stay they would take a third."""
    matrix = runner.matrix("cablelabs", "matrix.toml")
    one = {"page": ["synthetic:A"], "servers": [1], "link": ["10/1mbit"], "rtt": [100], "loss": [0]}
    kept = {name: value for name, value in matrix.variants[BASE].items() if name != "requests_per_connection"}
    both = replace(matrix, factors=one, variants={BASE: matrix.variants[BASE], "kept": kept})
    closed, kept_ms = laboratory.in_terms(runner.runs(both))["plt_ms"].to_list()
    assert closed == pytest.approx(8692, rel=0.1)
    assert kept_ms < 0.45 * closed


def test_page_c_waits_for_the_servers_processor_over_spdy_without_loss(found: Laboratory) -> None:
    at = {"page": "C", "servers": 1, "down_mbps": 20, "rtt_ms": 20, "loss_pct": 0}
    server = {
        row["option"]: row["server_ms"]
        for row in found.runs.iter_rows(named=True)
        if all(row[name] == level for name, level in at.items())
    }
    assert server[SPDY] > 1_000 > 10 * server[BASE]


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


def test_readme_counts_the_verdicts_that_came_out(results: Results) -> None:
    came = Counter(judged.verdict.value for judged in results.judged)
    said = verdicts_said("cablelabs")
    assert {verdict: came[verdict] for verdict in said} == said
