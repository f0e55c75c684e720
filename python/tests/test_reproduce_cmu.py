"""The study `cmu`, run again: its three conditions without BoostEdge."""

from collections import Counter

import polars as pl
import pytest

import matrices
from conftest import verdicts_said
from loadstone import pages
from loadstone.reproduce.claims import Verdict, rows
from loadstone.reproduce.study import STUDIES, Results, Runner, Study
from loadstone.studies.cmu import claims, laboratory
from loadstone.studies.cmu.assumptions import ASSUMPTIONS

FOLDER = STUDIES / "cmu"


@pytest.fixture(scope="module")
def runner() -> Runner:
    return Runner(None, lambda done, total: None)


@pytest.fixture(scope="module")
def loads(runner: Runner) -> pl.DataFrame:
    return laboratory.Laboratory(runner).loads(3)


@pytest.fixture(scope="module")
def results(runner: Runner) -> Results:
    return Study.open("cmu").run(runner)


def test_made_pages_have_the_bytes_and_requests_of_table_1_under_every_assumption() -> None:
    for assumed in ASSUMPTIONS.values():
        for site in laboratory.SITES:
            page = laboratory.home_page(site, assumed)
            sizes = [one["bytes"] for one in page["objects"]]
            assert len(sizes) == site.requests and min(sizes) > 0
            assert sum(sizes) == pytest.approx(1000 * site.kb, abs=site.requests)
            pages.of_document(page)
    latimes, *_ = laboratory.SITES
    deep = laboratory.home_page(latimes, ASSUMPTIONS["half of the objects found in others"])
    assert sum("needs" in one for one in deep["objects"]) == latimes.requests // 2
    wide = laboratory.home_page(latimes, ASSUMPTIONS["sizes that differ widely"])
    sizes = [one["bytes"] for one in wide["objects"][1:]]
    assert max(sizes) > 50 * min(sizes)
    four = laboratory.home_page(latimes, ASSUMPTIONS["objects on four names"])
    assert len({one["url"].split("/")[2] for one in four["objects"]}) == 4


def test_no_load_is_faster_than_the_link_carries_its_bytes(loads: pl.DataFrame) -> None:
    least = {site.name: 8 * site.kb for site in laboratory.SITES}
    for site, took in loads.select("site", "plt_ms").iter_rows():
        assert took > 0.985 * least[site]
    # By this the study's times of FoxNews are none.
    doubted = {
        row["site"] for row in rows(FOLDER / "published.csv") if float(row["http"]) < least[row["site"]]
    }
    assert doubted == {"foxnews"}


def test_the_flip_server_ends_tls_and_what_goes_straight_passes_the_same_links(runner: Runner) -> None:
    page = pages.of_document({"objects": [{"url": "http://site.test/", "bytes": 1000}]})
    cells = [laboratory.scenario(page, condition, "0") for condition in laboratory.CONDITIONS]
    straight, https, spdy = (outcome.plt_ms for outcome in runner.outcomes([(cell, 1) for cell in cells]))
    # TLS 1.0 with False Start is a round trip; another 4 KB of certificates take 30 ms at 1 Mbit/s.
    assert 100 < https - straight < 150
    assert spdy == pytest.approx(https, abs=10)


def test_figures_are_computed_as_the_study_computes_them() -> None:
    def table(number: str) -> pl.DataFrame:
        (row,) = [row for row in rows(FOLDER / "averages.csv") if row["table"] == number]
        means = [float(row[column]) for column in ("http", "https", "spdy")]
        return pl.DataFrame({"condition": laboratory.CONDITIONS, "plt_ms": means})

    for number, cost, gain, points in (("4", 10.85, 2.78, 13.64), ("6", 14.77, -2.45, 12.32)):
        found = [figure(table(number)) for figure in (claims.cost, claims.gain, claims.points)]
        assert found == pytest.approx([cost, gain, points], abs=0.01)


def test_the_kept_figures_are_the_published_ones() -> None:
    for loss, name in (("0", "cmu-appendix1-noloss"), ("0.5", "cmu-appendix2-loss")):
        kept = {row["site"]: row for row in rows(FOLDER / "published.csv") if row["loss"] == loss}
        for row in matrices.published(name):
            own = [kept[row["site"]][column] for column in ("http", "https", "spdy")]
            assert own == [row["http_ms"], row["http_flip_ms"], row["spdy_flip_ms"]]
    sites = {row["site"]: row for row in matrices.published("cmu-sites")}
    for site in laboratory.SITES:
        published = sites[site.name]
        assert (site.kb, site.requests) == (float(published["home_kb"]), int(published["http_requests"]))


def test_the_claims_are_all_that_are_published() -> None:
    published = [row["id"] for row in matrices.published("cmu-claims")]
    assert [row["id"] for row in rows(FOLDER / "claims.csv")] == published


def test_every_claim_that_holds_is_turned_by_the_outcomes_that_it_names(results: Results) -> None:
    assert not {one.claim.id: one.survives for one in results.judged if one.survives}
    assert all(one.claim.turned_by for one in results.judged if one.altered)


def test_what_needs_boostedge_is_not_testable_and_all_else_is_judged(results: Results) -> None:
    for one in results.judged:
        needs = "BoostEdge" in one.claim.says
        assert (one.verdict == Verdict.NOT_TESTABLE) == needs, one.claim.id


def test_the_order_without_loss_is_the_study_s_and_the_cost_of_tls_is_not(loads: pl.DataFrame) -> None:
    mean = claims.means(loads.filter(pl.col("loss") == "0"))
    assert mean[laboratory.SPDY] < mean[laboratory.HTTP] < mean[laboratory.HTTPS]
    assert claims.cost(loads) < 5


def test_results_name_their_conditions_alike_and_doubtful_figures_are_marked(results: Results) -> None:
    assert all(list(cell.factors) == ["site", "loss"] for cell in results.cells)
    assert len(results.cells) == 25 * 2 * 3
    doubted = {(cell.factors["site"], cell.factors["loss"]) for cell in results.cells if not cell.is_sound}
    assert doubted == {("foxnews", "0"), ("foxnews", "0.5"), ("att", "0.5"), ("bestbuy", "0.5")}


def test_readme_counts_the_verdicts_that_came_out(results: Results) -> None:
    came = Counter(judged.verdict.value for judged in results.judged)
    said = verdicts_said("cmu")
    assert {verdict: came[verdict] for verdict in said} == said
