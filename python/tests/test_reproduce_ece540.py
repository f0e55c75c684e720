"""The study `ece540`, run again: its shape, and that what is assumed is said."""

import json
from collections import Counter
from typing import Any

import pytest

import matrices
from conftest import verdicts_said
from loadstone import pages
from loadstone.reproduce.claims import Verdict, rows
from loadstone.reproduce.study import STUDIES, Results, Runner, Study
from loadstone.studies.ece540 import laboratory
from loadstone.studies.ece540 import laboratory as described


@pytest.fixture(scope="module")
def runner() -> Runner:
    return Runner(None, lambda done, total: None)


@pytest.fixture(scope="module")
def results(runner: Runner) -> Results:
    return Study.open("ece540").run(runner)


@pytest.fixture(scope="module")
def measured(runner: Runner) -> dict[str, laboratory.Lab]:
    return laboratory.measure(runner)


def test_spdy_is_faster_with_fewer_connections_and_uses_more_of_the_link_in_both_laboratories(
    measured: dict[str, laboratory.Lab],
) -> None:
    for lab in measured.values():
        assert lab.reduction("time_s") > 0
        assert lab.reduction("connections") == pytest.approx(lab.reduction("connections", lab.theirs), abs=2)
        assert lab.reduction("mbps") < 0


def test_the_stated_pages_and_links_are_consistent_with_all_times_and_bytes(
    measured: dict[str, laboratory.Lab],
) -> None:
    for lab in measured.values():
        for protocol in laboratory.PROTOCOLS:
            for quantity in ("time_s", "bytes"):
                assert lab.ours[protocol][quantity] == pytest.approx(lab.theirs[protocol][quantity], rel=0.25)


def test_the_study_s_means_are_recomputed_from_its_repetitions(measured: dict[str, laboratory.Lab]) -> None:
    # Its own average of the virtual laboratory, 9.590, is not what its bytes and times give.
    assert measured["virtual"].theirs["spdy"]["mbps"] == pytest.approx(14.976, abs=0.001)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("ec2", described.own_page("ec2")),
        ("virtual", described.own_page("virtual")),
        ("cold", described.shop_page("cold")),
        ("warm", described.shop_page("warm")),
    ],
)
def test_the_page_files_are_the_pages_that_are_described(name: str, made: dict[str, Any]) -> None:
    assert json.loads(pages.read(str(STUDIES / "ece540" / f"{name}.page.json")).json) == made


def test_every_claim_has_a_verdict_and_what_was_fitted_confirms_nothing(results: Results) -> None:
    verdicts = {judged.claim.id: judged.verdict for judged in results.judged}
    assert list(verdicts) == [row["id"] for row in rows(STUDIES / "ece540" / "claims.csv")]
    assert {verdicts[id] for id in ("EC01", "EC08", "EC09", "EC11")} == {Verdict.UNDECIDED}


def test_what_follows_from_the_page_that_was_stated_is_no_test(results: Results) -> None:
    verdicts = {judged.claim.id: judged.verdict for judged in results.judged}
    assert {verdicts[f"EC0{at}"] for at in (2, 4, 5, 6, 7)} == {Verdict.SET_UP}


def test_every_claim_that_holds_is_turned_by_the_outcomes_that_it_names(results: Results) -> None:
    assert not {one.claim.id: one.survives for one in results.judged if one.survives}
    assert all(one.claim.turned_by for one in results.judged if one.altered)


def test_the_claims_are_all_that_a_laboratory_can_test() -> None:
    published = [row["id"] for row in matrices.published("ece540-claims")]
    listed = [row["id"] for row in rows(STUDIES / "ece540" / "claims.csv")]
    assert listed[: len(published)] == published, "what is on no list of theirs comes after"


def test_the_kept_repetitions_are_the_published_ones() -> None:
    kept = [list(row.values())[1:] for row in rows(STUDIES / "ece540" / "repetitions.csv")]
    columns = ("protocol", "repetition", "packets", "time_s", "bytes", "tcp_connections")
    published = [row for lab in laboratory.LABS for row in matrices.published(f"ece540-{lab}")]
    assert kept == [[row[name] for name in columns] for row in published]


def test_results_name_their_conditions_alike(results: Results) -> None:
    assert all(list(cell.factors) == ["lab", "quantity"] for cell in results.cells)
    assert all(cell.ours is not None and cell.published is not None for cell in results.cells)


def test_readme_counts_the_verdicts_that_came_out(results: Results) -> None:
    came = Counter(judged.verdict.value for judged in results.judged)
    said = verdicts_said("ece540")
    assert {verdict: came[verdict] for verdict in said} == said
