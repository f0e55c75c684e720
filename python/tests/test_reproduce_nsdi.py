"""The study nsdi run again: claims complete, pages as stated, findings that hold on a part of it."""

import shutil
import statistics
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import matrices
from conftest import ROOT, verdicts_said
from loadstone.analysis.question import Level
from loadstone.reproduce import evidence
from loadstone.reproduce.claims import Verdict, rows
from loadstone.reproduce.study import Results, Runner
from loadstone.studies import nsdi
from loadstone.studies.nsdi import deciding_factors, otherwise, page_corpus, sensitivity
from loadstone.studies.nsdi.laboratory import (
    HTTP,
    SPDY,
    Plan,
    Timed,
    from_syn,
    load,
    median,
    spdy_over_http,
    sweep,
)
from loadstone.studies.nsdi.page_corpus import Making

STUDY = ROOT / "studies" / "nsdi"
EXAMPLE = ROOT / "python" / "loadstone" / "examples" / "shop.har"
HARS = ROOT.parent / "shared" / "data" / "har"
CHEAP: dict[str, list[Level]] = {
    "iw": [3, 10, 32],
    "loss": [0, 2],
    "size": ["100B", "10KB", "100KB"],
    "objects": [2, 16, 64],
}
RUNNER = Runner(None, lambda done, total: None)


LEFT_OUT = ("queue of 20 packets", "loss on the way down alone", "TCP without HyStart")


@pytest.fixture(scope="module")
def results() -> Results:
    """Run a small part: networks, pages, draws and assumptions are few, all judgements are made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "DRAWS", 10)
        patch.setattr(sensitivity, "_PART", {"iw": [3, 10, 32], "size": ["10KB"], "objects": [8, 64]})
        for name in LEFT_OUT:
            patch.delitem(otherwise.NETWORKS, name)
        for name in [*page_corpus.OTHERWISE][1:]:
            patch.delitem(page_corpus.OTHERWISE, name)
        patch.delitem(page_corpus.SIZES_OTHERWISE, "objects that are more alike")
        return nsdi.study(RUNNER, replace(sweep(), factors={**sweep().factors, **CHEAP}, runs=3), pages=8)


def test_every_claim_of_a_laboratory_has_a_verdict(results: Results) -> None:
    listed = [row["id"] for row in rows(STUDY / "claims.csv")]
    assert [judged.claim.id for judged in results.judged] == listed and len(listed) == 91
    for judged in results.judged:
        assert judged.ours
        assert judged.why or judged.verdict not in (Verdict.NOT_TESTABLE, Verdict.UNDECIDED), judged.claim.id


def test_every_claim_that_holds_is_turned_by_the_outcomes_that_it_names(results: Results) -> None:
    assert not {one.claim.id: one.survives for one in results.judged if one.survives}
    assert not [one.claim.id for one in results.judged if one.altered and not one.claim.turned_by]


def test_what_says_how_it_was_made_is_a_set_up_and_nothing_else_is(results: Results) -> None:
    set_up = {judged.claim.id for judged in results.judged if judged.verdict is Verdict.SET_UP}
    listed = {row["id"]: row["kind"] for row in rows(STUDY / "claims.csv")}
    assert set_up == {id for id, kind in listed.items() if kind == "setup"} - {"NS17", "NS26"}


def test_readme_counts_what_could_fail(results: Results) -> None:
    came = Counter(judged.verdict for judged in results.judged)
    said = verdicts_said("nsdi")
    assert said["not testable"] == came[Verdict.NOT_TESTABLE]
    assert sum(said.values()) == len(results.judged) - came[Verdict.SET_UP]
    own = (STUDY / "README.md").read_text()
    assert all(f"**{count} {verdict}**" in own for verdict, count in said.items())


def test_the_claims_are_those_that_were_published() -> None:
    published = [row for row in matrices.published("nsdi-claims") if row["scope"] == "lab"]
    kept = [(row["id"], row["value"], row["most"]) for row in rows(STUDY / "claims.csv")]
    theirs = [(row["id"], row["value"], row["value_hi"]) for row in published]
    assert kept[: len(theirs)] == theirs, "what is on no list of theirs comes after"


def test_the_clock_starts_with_the_first_request() -> None:
    short = replace(
        sweep(), factors={**sweep().factors, **CHEAP, "rtt": [200], "loss": [0]}, runs=1, analysis={}
    )
    whole, timed = RUNNER.runs(short), Timed(RUNNER).runs(short)
    assert (whole["plt_ms"] - timed["plt_ms"]).min() >= 200, "a handshake takes a round trip"
    assert from_syn(timed)["plt_ms"].to_list() == pytest.approx(whole["plt_ms"].to_list())


def test_the_sweep_is_the_published_parameter_space() -> None:
    units = {"rtt": 1.0, "bandwidth": 1.0, "loss": 0.01, "initial_window": 1.0, "object_count": 1.0}
    names = {"bandwidth": "rate", "initial_window": "iw", "object_count": "objects", "object_size": "size"}
    for row in matrices.published("nsdi-parameter-space"):
        levels = sweep().factors[names.get(row["factor"], row["factor"])]
        theirs = row["values"].split(";")
        if row["factor"] == "object_size":
            assert [str(level).removesuffix("B") for level in levels] == theirs
        else:
            unit = units[row["factor"]]
            assert [float(level) * unit for level in levels] == pytest.approx(
                [float(each) for each in theirs]
            )


def test_the_findings_that_need_no_whole_sweep_come_out(results: Results) -> None:
    by = {judged.claim.id: judged.verdict for judged in results.judged}
    assert {by[id] for id in ("NS13", "NS34", "NS40", "NS41", "NS87")} == {Verdict.CONFIRMED}
    assert by["NS88"] is Verdict.CONTRADICTED


def test_every_gain_of_the_sweep_is_a_cell_and_one_of_them_was_published(results: Results) -> None:
    assert len(results.cells) == 2 * 3 * 2 * 2 * 3 * 3 * 3
    assert [cell.published for cell in results.cells if cell.published] == [0.5]
    assert {*results.cells[0].factors} == {"rtt", "rate", "loss", "iw", "size", "objects"}


def test_the_pages_have_the_published_medians() -> None:
    sizes = [[one["bytes"] for one in page["objects"]] for _, page in page_corpus.corpus()]
    assert len(sizes) == 200
    assert statistics.median(map(len, sizes)) == pytest.approx(30, rel=0.05)
    for ours, published in (
        (statistics.median(map(sum, sizes)), 750_000),
        (statistics.median(map(statistics.mean, sizes)), 17_000),
        (statistics.median(map(statistics.pstdev, sizes)), 31_000),
    ):
        assert ours == pytest.approx(published, rel=0.25)
    smalls = [sum(size < 1000 for size in each) for each in sizes]
    assert sum(count > 0 for count in smalls) / 200 == pytest.approx(0.8, abs=0.05)
    assert sum(count > 10 for count in smalls) / 200 == pytest.approx(0.5, abs=0.05)


def test_changing_a_page_keeps_what_it_says_it_keeps() -> None:
    page = dict(page_corpus.corpus(1))["p000"]
    total = sum(one["bytes"] for one in page["objects"])
    equal = page_corpus.of_equal_sizes(page)["objects"]
    assert sum(one["bytes"] for one in equal) == total and len(equal) == len(page["objects"])
    assert max(one["bytes"] for one in equal) - min(one["bytes"] for one in equal) <= 1
    assert {one["url"].split("/")[2] for one in page_corpus.on_one_host(page)["objects"]} == {"server.test"}
    assert page == dict(page_corpus.corpus(1))["p000"], "a change works on a copy"
    faster = page_corpus.with_computing(0.5)(page)
    assert [node["ms"] for node in faster["compute"]] == [node["ms"] / 2 for node in page["compute"]]


def test_an_object_for_which_more_wait_is_more_urgent() -> None:
    page = {
        "objects": [
            {"url": "http://a.test/", "bytes": 1, "needs": []},
            {"url": "http://a.test/script", "bytes": 1},
            {"url": "http://a.test/image", "bytes": 1},
            {"url": "http://a.test/late", "bytes": 1, "needs": [{"node": "http://a.test/script"}]},
        ]
    }
    urgencies = [one["urgency"] for one in page_corpus.prioritised_by_dependency(page)["objects"]]
    assert urgencies == [0, 3, 7, 7], "depths 3, 2, 1 and 1, mapped to eight levels"


def test_computing_counts_nothing_in_the_depth_of_an_object() -> None:
    page = {
        "objects": [
            {"url": "http://a.test/", "bytes": 1, "needs": []},
            {"url": "http://a.test/script", "bytes": 1},
            {"url": "http://a.test/late", "bytes": 1, "needs": [{"node": "two"}]},
        ],
        "compute": [
            {"name": "one", "ms": 1, "needs": [{"node": "http://a.test/script"}]},
            {"name": "two", "ms": 1, "needs": [{"node": "one"}]},
        ],
    }
    urgencies = [one["urgency"] for one in page_corpus.prioritised_by_dependency(page)["objects"]]
    assert urgencies == [0, 3, 7]


@pytest.mark.parametrize(
    "making", [*page_corpus.OTHERWISE.values(), *page_corpus.SIZES_OTHERWISE.values()], ids=str
)
def test_pages_that_are_made_otherwise_are_others_with_the_published_medians(making: Making) -> None:
    other, own = dict(page_corpus.corpus(making=making)), dict(page_corpus.corpus())
    assert other != own
    sizes = [[one["bytes"] for one in page["objects"]] for page in other.values()]
    assert statistics.median(map(len, sizes)) == pytest.approx(30, rel=0.05)


def test_hosts_of_one_registrable_domain_become_one() -> None:
    hosts = ["www.site.test", "a.b.site.test", "www.shop.co.uk", "other.co.uk"]
    objects = [{"url": f"http://{host}/", "bytes": 1} for host in hosts]
    made = page_corpus.by_registrable_domain({"objects": objects})["objects"]
    domains = [one["url"].split("/")[2] for one in made]
    assert domains == ["site.test", "site.test", "shop.co.uk", "other.co.uk"]


def test_a_factor_that_decides_alone_has_all_of_the_effect() -> None:
    ratios = pl.DataFrame(
        {"size": [1, 1, 2, 2], "loss": [0, 1, 0, 1], "ratio": [0.5, 0.5, 2.0, 2.0]},
    )
    assert deciding_factors.total_effects(ratios, ("size", "loss")) == pytest.approx(
        {"size": 1.0, "loss": 0.0}
    )
    crossed = ratios.with_columns(ratio=pl.Series([0.5, 2.0, 2.0, 0.5]))
    assert deciding_factors.total_effects(crossed, ("size", "loss")) == pytest.approx(
        {"size": 1.0, "loss": 1.0}
    )


def test_recorded_pages_can_be_loaded_beside_those_that_are_made() -> None:
    if not HARS.is_dir():
        pytest.skip("no recorded pages here: they are not part of the repository")
    found = page_corpus.recorded(HARS / "pagexray")
    plain = {name: sweep().variants[name] for name in (HTTP, SPDY)}
    forms = {"graph": page_corpus.on_one_host, "set": page_corpus.objects_alone}
    cells = load(RUNNER, found, Plan(forms, {"rtt": [100], "rate": [10], "loss": [0]}, plain))
    assert len(cells) == 4 * len(found) and len(found) >= 3
    assert median(spdy_over_http(cells)) > 0


def test_pages_that_are_given_are_the_study_s(tmp_path: Path) -> None:
    for name in ("first.har", "second.har"):
        shutil.copy(EXAMPLE, tmp_path / name)
    runner = Runner(None, lambda done, total: None, tmp_path)
    plain = {name: sweep().variants[name] for name in (HTTP, SPDY)}
    graph = {"graph": page_corpus.on_one_host}
    loads = otherwise.PageLoads(runner, 200, Plan(graph, {"rtt": [100], "rate": [10], "loss": [0]}, plain))
    judged = loads.evidence()
    assert (judged.seeds, judged.most, loads.until) == (2, 2, "")
    assert {otherwise.MADE}.issubset(judged.assumptions)
    assert not {*page_corpus.OTHERWISE, *page_corpus.SIZES_OTHERWISE} & {*judged.assumptions}
    given = judged.loads(2)
    assert given["seed"].unique().sort().to_list() == [1, 2]
    assert given.filter(seed=1)["plt_ms"].to_list() == given.filter(seed=2)["plt_ms"].to_list()
    assert judged.loads(2, otherwise.MADE)["seed"].n_unique() == otherwise.FIRST
