"""The study `yahoo`, run again: what has to come out, and that nothing but one number is chosen."""

import csv
import io
import json
import statistics
from collections import Counter
from typing import Any

import pytest

import matrices
from conftest import verdicts_said
from loadstone import pages
from loadstone._native import run_many
from loadstone.captures.traffic import Traffic
from loadstone.reproduce.claims import Verdict, rows
from loadstone.reproduce.evidence import AS_STATED
from loadstone.reproduce.study import STUDIES, Results, Runner, Study
from loadstone.studies.yahoo import edge_traffic, fairness, front_page, initial_window, laboratory, pipelining
from loadstone.studies.yahoo.assumptions import AS_IT_IS, READINGS


@pytest.fixture(scope="module")
def runner() -> Runner:
    return Runner(None, lambda done, total: None)


@pytest.fixture(scope="module")
def lab(runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> laboratory.Laboratory:
    return laboratory.Laboratory(runner, tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def results(runner: Runner) -> Results:
    return Study.open("yahoo").run(runner)


@pytest.fixture(scope="module")
def table_1(lab: laboratory.Laboratory) -> list[initial_window.Row]:
    return initial_window.rows_of(lab.runs("table1"), lab.runs("rtt"))


def test_12_of_the_13_figures_of_table_1_that_nothing_was_set_by_lie_within_a_quarter(
    table_1: list[initial_window.Row],
) -> None:
    right, worst = initial_window.near(table_1)
    assert right == 12, f"the worst is {worst:.0%} off"


def test_the_best_window_is_32_without_loss_and_5_to_10_with_the_loss_that_goes_with_it(
    table_1: list[initial_window.Row],
) -> None:
    clean, lossy = initial_window.best(table_1)
    assert clean == 32
    assert 5 <= lossy <= 10


def test_the_free_number_follows_from_window_3_without_loss_alone() -> None:
    assert laboratory.fitted(AS_IT_IS) == front_page.BROWSER_MS


@pytest.mark.parametrize(("name", "made"), [("front", front_page.front()), ("listed", front_page.listed())])
def test_the_page_files_are_the_pages_that_are_described(name: str, made: dict[str, Any]) -> None:
    kept = pages.read(str(STUDIES / "yahoo" / f"{name}.page.json"))
    assert json.loads(kept.json) == made


def test_the_page_has_what_is_known_of_it() -> None:
    objects = front_page.front()["objects"]
    large = [one["bytes"] for one in objects if front_page.LARGE in one["url"]]
    assert (len(objects), len(large)) == (30, 14)
    assert sum(large) == pytest.approx(445_000, abs=14)


def test_the_fairness_test_says_of_what_the_loss_is(lab: laboratory.Laboratory) -> None:
    rates = {reading: fairness.measure(lab, reading) for reading in READINGS}
    assert fairness.nearest(rates) == "round trips"


def test_pipelining_with_a_window_of_300_takes_four_round_trips_over_two_connections(runner: Runner) -> None:
    runs = runner.runs(runner.matrix(STUDIES / "yahoo" / "pipelining.toml"))
    assert pipelining.round_trips(runs, 300) == pytest.approx(4, abs=0.01)
    assert pipelining.opened(runs) == 2


def test_the_load_ends_with_the_acknowledgement_of_the_last_object_as_the_study_measures() -> None:
    front = front_page.front()
    # The packets of a load are known up to its end, so something has to come after the page.
    last = {"url": "http://later.test/", "bytes": 1}
    needs = [{"node": one["url"], "on": "end", "ms": 500} for one in front["objects"]]
    (alone,) = run_many([(laboratory.scenario(front, 3), 1)])
    longer = laboratory.scenario({"objects": [*front["objects"], {**last, "needs": needs}]}, 3)
    (outcome,) = run_many([(longer, 1)], None, 100_000)
    text, _ = outcome.capture() or ("", 0)
    packets = [row for row in csv.DictReader(io.StringIO(text)) if row["host"] != "later.test"]
    acknowledged = max(float(row["time_ms"]) for row in packets if row["way"] == "up")
    assert acknowledged == pytest.approx(alone.plt_ms, abs=0.5)


def test_the_clock_starts_with_the_first_request_and_not_with_the_first_packet(
    lab: laboratory.Laboratory,
) -> None:
    clean = lab.runs("rtt", only={"iw": [3], "rtt": [100]})
    assert clean["seconds"][0] == pytest.approx((clean["plt_ms"][0] - 100) / 1000, abs=1e-3), "one round trip"
    assert clean["seconds"][0] == pytest.approx(1.87, abs=2e-3)


def test_a_loss_is_as_stated_whatever_it_is_a_share_of(lab: laboratory.Laboratory) -> None:
    for assumption in ("loss of packets to the client", "loss of packets of each direction"):
        runs = lab.runs("loss", assumption, seeds=1, only={"iw": [3]})
        assert runs["loss"].to_list() == list(initial_window.LOSSES)


def test_every_claim_has_a_verdict_and_those_that_fail_are_known(results: Results) -> None:
    verdicts = {judged.claim.id: judged.verdict for judged in results.judged}
    assert list(verdicts) == [row["id"] for row in rows(STUDIES / "yahoo" / "claims.csv")]
    failed = {id for id, verdict in verdicts.items() if verdict is Verdict.CONTRADICTED}
    assert failed == {"YA33", "YA36", "YA42", "YA48", "YA49", "YA59", "YA68", "YA79"}


def test_every_claim_that_holds_is_turned_by_the_outcomes_that_it_names(results: Results) -> None:
    assert not {one.claim.id: one.survives for one in results.judged if one.survives}
    assert all(one.claim.turned_by for one in results.judged if one.altered)


def test_the_list_has_all_that_a_laboratory_can_test() -> None:
    published = {row["id"] for row in matrices.published("yahoo-claims") if row["scope"] == "lab"}
    listed = [row["id"] for row in rows(STUDIES / "yahoo" / "claims.csv")]
    assert published <= {*listed} and listed == sorted(listed)


def test_the_list_has_all_that_is_said_of_traffic_in_sections_3_and_4_1_1() -> None:
    rows_of = matrices.published("yahoo-claims")
    said = {
        row["id"]
        for row in rows_of
        if row["scope"] == "traffic" and row["section"].startswith(("3", "4.1.1"))
    }
    assert said <= {row["id"] for row in rows(STUDIES / "yahoo" / "claims.csv")}


def test_the_generated_cdn_is_as_the_study_describes_its_own() -> None:
    hours = [edge_traffic.traffic(None, hour, AS_STATED) for hour in range(1, 6)]

    def mean(name: str, of: list[Traffic] = hours) -> float:
        return statistics.mean(one.shares()[name] or 0 for one in of)

    assert mean("connections_rtt_400_ms_or_more") == pytest.approx(10, abs=2)
    assert mean("responses_below_25_kb") == pytest.approx(90, abs=1)
    assert mean("bytes_in_responses_60_kb_or_more") == pytest.approx(50, abs=6)
    assert mean("connections_with_one_request") > 50
    assert mean("gaps_below_1_s") == pytest.approx(80, abs=5)
    assert statistics.mean(one.connections["requests"].mean() for one in hours) == pytest.approx(2.4, abs=0.1)
    india = [edge_traffic.traffic("india", hour, AS_STATED) for hour in range(1, 6)]
    assert mean("connections_nothing_sent_again", india) > 70
    assert mean("connections_over_10_pct_sent_again", india) > 17


def test_the_same_users_come_whatever_the_window_and_lose_more_with_a_large_one() -> None:
    small, large = (edge_traffic.traffic("singapore", 1, AS_STATED, iw) for iw in (3, 16))
    both = [one.connections.sort("client", "client_port")["bytes_down"].to_list() for one in (small, large)]
    assert both[0] == both[1]
    again = [one.connections["retransmitted_packets_down"].sum() for one in (small, large)]
    assert again[1] > again[0]
    windows = [
        one.connections["initial_window_down"].drop_nulls().unique().to_list() for one in (small, large)
    ]
    assert 3 in windows[0] and 16 in windows[1]


def test_the_variance_in_ms_squared_gives_the_study_its_share_of_gaps_beyond_the_rto() -> None:
    late = edge_traffic.beyond_rto()
    by_deviation, by_variance = (
        edge_traffic.share_of(late.run(5, name)) for name in (AS_STATED, edge_traffic.RTT_VARIANCE)
    )
    assert by_deviation > 40
    assert by_variance == pytest.approx(10, abs=2.5)


def test_the_kept_figures_are_the_published_ones() -> None:
    kept = rows(STUDIES / "yahoo" / "table1.csv")
    published = matrices.published("yahoo-icw-table1")
    columns = ("icw_segments", "loss_pct", "load_time_s", "noloss_load_time_s")
    assert [[float(cell) for cell in row.values()] for row in kept] == [
        [float(row[name]) for name in columns] for row in published
    ]


def test_results_name_their_conditions_alike(results: Results) -> None:
    assert all(list(cell.factors) == ["experiment", "loss", "rtt"] for cell in results.cells)
    published = [cell for cell in results.cells if cell.published is not None]
    assert len(published) == 14 + 2 + 1
    assert all(cell.ours for cell in results.cells)


def test_readme_counts_the_verdicts_that_came_out(results: Results) -> None:
    came = Counter(judged.verdict.value for judged in results.judged)
    said = verdicts_said("yahoo")
    assert {verdict: came[verdict] for verdict in said} == said
