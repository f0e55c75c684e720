"""The study cablelabs run again: everything is there, and what was found holds."""

import csv
import io
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import matrices
from conftest import ROOT, Command, verdicts_said
from loadstone.files import InputError
from loadstone.reproduce import study_report
from loadstone.reproduce.claims import Verdict
from loadstone.reproduce.study import STUDIES, Results, Runner
from loadstone.studies import cablelabs
from loadstone.studies.cablelabs import claims, explanations, laboratory, slow_start, tables
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
    assert verdicts["CL43"] is not Verdict.CONTRADICTED, "with loss it falls, by more than chance as a rule"


def test_a_claim_is_judged_only_where_chance_cannot_turn_it() -> None:
    """The edges are those of a 95 % interval, and of four parts of one claim those of 98.75 %."""

    def part(share: float) -> NDArray[np.bool_]:
        return np.arange(2_000) < share * 2_000

    shares = (1.0, 0.98, 0.97, 0.5, 0.03, 0.02, 0.0)
    said = [claims.holds([part(share)]) for share in shares]
    assert said == [True, True, None, None, None, False, False]
    assert claims.holds([part(1.0), part(0.5)]) is None, "one of its parts is open"
    assert claims.holds([part(0.5), part(0.0)]) is False, "one does not hold, whatever the other does"
    assert claims.holds([part(1.0)] * 3 + [part(0.02)]) is None, "of four parts one is so rather often"


def test_without_chance_the_direction_is_what_came_out(found: Laboratory) -> None:
    lossless = claims.mean_gain(found.ours.of(SPDY), pl.col("loss_pct") == 0)
    assert lossless.std() < 1e-9
    assert claims.holds([lossless > lossless[0] - 0.001]) is True
    assert claims.holds([lossless > lossless[0] + 0.001]) is False


def test_draws_spread_about_what_came_out_as_seeds_do(found: Laboratory) -> None:
    """Over 30 other sets of 20 seeds the mean gain of SPDY with loss differed by 0.05."""
    lossy = claims.mean_gain(found.ours.of(SPDY), pl.col("loss_pct") == 1)
    gains = found.ours.of(SPDY).frame.filter(pl.col("loss_pct") == 1)["gain"]
    assert lossy[0] == pytest.approx(gains.mean())
    assert lossy[1:].mean() == pytest.approx(lossy[0])
    assert 0.02 < lossy.std() < 0.1


def test_claims_of_the_model_are_judged_by_the_calculation_and_of_loads_by_the_simulation(
    results: Results,
) -> None:
    judged = {each.claim.id: each for each in results.judged}
    for id in ("CL14", "CL15", "CL16", "CL17", "CL18", "CL19"):
        assert judged[id].claim.section == "3.1"
        assert judged[id].why.startswith("calculated") and "simulated" in judged[id].why, id
    assert judged["CL16"].verdict is Verdict.CONTRADICTED, "nine packets are 3 + 6, and a handshake"
    assert judged["CL52"].claim.section == "5.4.2"
    assert judged["CL52"].why.startswith("simulated") and "calculated" in judged["CL52"].why
    assert judged["CL52"].verdict is Verdict.CONTRADICTED, "a window of ten saves more than one round trip"


def test_the_browser_has_as_many_connections_as_it_may_and_one_session(runner: Runner) -> None:
    one, *_ = explanations.measure_connections(runner)
    assert (one.page, one.servers) == ("A", 1)
    assert one.at_a_time == (6, 1)
    assert one.in_all == (102, 1), "over HTTPS none is kept alive: one for each object"


def test_a_change_of_the_laboratory_that_changes_nothing_is_refused(runner: Runner) -> None:
    matrix = runner.matrix(STUDIES / "cablelabs" / "matrix.toml")
    with pytest.raises(InputError, match="there is no '50p,' in"):
        laboratory.with_network(matrix, "50p,", "100p,")
    with pytest.raises(InputError, match="tls_version is not set"):
        laboratory.without(matrix, {"tls_version": None}, {})
    with pytest.raises(InputError, match=r"variant\.work\.us is not set"):
        laboratory.without(matrix, {}, {"variant.work.us": None})
    assert "variant.work.response_us" not in laboratory.without(matrix, {}, laboratory.NO_WORK).variants[SPDY]


def test_the_list_of_claims_is_the_studys_own() -> None:
    theirs = [row for row in matrices.published("cablelabs-claims") if row["scope"] == "lab"]
    with (ROOT / "studies/cablelabs/claims.csv").open(encoding="utf-8") as file:
        ours = list(csv.DictReader(file))
    names = {"id": "id", "relation": "relation", "value": "value", "value_hi": "most", "unit": "unit"}
    assert [{new: row[old] for old, new in names.items()} for row in theirs] == [
        {new: row[new] for new in names.values()} for row in ours
    ]


def test_there_is_a_line_for_each_published_time(results: Results) -> None:
    lines = list(csv.DictReader(io.StringIO(study_report.cells_csv(results))))
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


def test_readme_counts_the_verdicts_that_came_out(results: Results) -> None:
    came = Counter(judged.verdict.value for judged in results.judged)
    said = verdicts_said("cablelabs")
    assert {verdict: came[verdict] for verdict in said} == said
