"""The verb `compare` on the command line."""

from pathlib import Path

import pytest

import loadstone as package
from conftest import Command

VERDICTS = ("Best: ", "Better than ", "No clear winner: ", "It hardly matters here: ")


def test_compare_shows_every_variant_on_four_networks(loadstone: Command, small: str) -> None:
    result = loadstone("compare", small, "--runs", "7", "--json")
    assert result.code == 0
    document = result.document
    assert document["baseline"] == "http/1.1"
    (page,) = document["pages"]
    assert [network["name"] for network in page["networks"]] == ["cable", "wifi", "4g", "slow-4g"]
    for network in page["networks"]:
        assert [variant["name"] for variant in network["variants"]] == ["http/1.1", "h2"]
        base, *others = network["variants"]
        assert base["gain"] is None and base["saved_ms"] is None and base["saved_percent"] is None
        for variant in others:
            assert len(variant["runs"]) == 7
            assert variant["gain"] == base["median_plt_ms"] / variant["median_plt_ms"]
            assert variant["gain_low"] <= variant["gain"] <= variant["gain_high"]
            saved = base["median_plt_ms"] - variant["median_plt_ms"]
            assert variant["saved_ms"] == saved
            assert variant["saved_percent"] == pytest.approx(100 * saved / base["median_plt_ms"])
            for end in ("low", "high"):
                # Twice as fast saves 50 %, half as fast costs 100 %.
                left = 1 - variant[f"saved_{end}_percent"] / 100
                assert left * variant[f"gain_{end}"] == pytest.approx(1)
        least = min(variant["median_plt_ms"] for variant in network["variants"])
        fastest = next(variant for variant in network["variants"] if variant["name"] == network["fastest"])
        assert fastest["median_plt_ms"] == least
        assert network["best"] == (None if network["not_clearly_slower"] else network["fastest"])


def test_compare_exactly_needs_one_run_and_no_interval(loadstone: Command, small: str) -> None:
    document = loadstone("compare", small, "--exact", "--network", "cable", "--json").document
    (network,) = document["pages"][0]["networks"]
    assert (network["random"], network["spread"]) == (False, {"network": 0, "times": 0})
    assert all(len(variant["runs"]) == 1 for variant in network["variants"])
    assert all(variant["gain_low"] is None for variant in network["variants"])
    assert all(variant["saved_low_percent"] is None for variant in network["variants"])
    assert network["variants"][1]["saved_ms"] is not None
    given = loadstone("compare", small, "--exact", "--spread", "2")
    assert (given.code, given.out) == (2, "") and "--exact" in given.err


def test_compare_is_over_tls_unless_another_is_chosen(loadstone: Command) -> None:
    def used(*options: str) -> set[str]:
        document = loadstone("compare", "synthetic:A", "--network", "cable", "--json", *options).document
        return {variant["variant"]["tls"] for variant in document["pages"][0]["networks"][0]["variants"]}

    assert used() == {"1.3"}
    assert used("--tls", "1.2") == {"1.2"}
    assert used("--tls", "none") == {"none"}


def test_load_and_compare_answer_alike(loadstone: Command, tmp_path: Path) -> None:
    """Also where pages were recorded without TLS: they are loaded as they would be served today."""
    page = tmp_path / "old.page.json"
    page.write_text(
        '{"objects": [{"url": "http://a.test/", "bytes": 9000}, {"url": "http://a.test/1", "bytes": 90}]}'
    )
    common = (page, "--network", "cable", "--json")
    loaded = loadstone("load", *common, "--protocol", "h2").document
    (network,) = loadstone("compare", *common).document["pages"][0]["networks"]
    assert loaded["variant"] == network["variants"][1]["variant"] and loaded["variant"]["tls"] == "1.3"
    assert loaded["median_plt_ms"] == network["variants"][1]["median_plt_ms"]
    assert loaded["median_plt_ms"] == package.load(page, network="cable", protocol="h2").median_plt_ms
    assert loadstone("load", *common, "--tls", "none").document["variant"]["tls"] == "none"


def test_compare_in_words_marks_the_winner(loadstone: Command, small: str) -> None:
    result = loadstone("compare", small, "--network", "dsl-lossy", "--network", "20mbit,10ms", "--runs", "7")
    assert result.code == 0
    for block in result.out.split("\n\n"):
        assert "95 % interval" in block and "7 runs per variant, seeds 1-7" in block
        lines = block.splitlines()
        (verdict,) = [line for line in lines if line.startswith(VERDICTS)]
        assert sum(line.startswith("*") for line in lines) == verdict.startswith("Best: ")
    exact = loadstone("compare", small, "--network", "20mbit,10ms", "--exact").out
    assert "nothing varies, so every run is the same: 1 run, no interval" in exact
    assert sum(line.startswith("*") for line in exact.splitlines()) == 1


def test_compare_claims_nothing_without_an_interval(loadstone: Command, small: str) -> None:
    result = loadstone("compare", small, "--network", "dsl-lossy", "--runs", "3")
    assert "(an interval needs 6)" in " ".join(result.out.split())
    claims = [line for line in result.out.splitlines() if line.startswith("Best: ")]
    assert all("baseline" in claim for claim in claims)


def test_compare_runs_until_gains_are_known(loadstone: Command, small: str) -> None:
    networks = ("--network", "dsl-lossy", "--network", "cable")
    asked = ("compare", small, *networks, "--exact", "--until", "20%", "--json")
    one, many = loadstone(*asked, "--threads", "1"), loadstone(*asked, "--threads", "3")
    assert (one.code, one.out) == (0, many.out)
    lossy, clean = one.document["pages"][0]["networks"]
    assert lossy["until"] == {"half_width": 0.2, "most_runs": 2000, "reached": True}
    counts = {len(variant["runs"]) for variant in lossy["variants"]}
    assert counts <= {21, 42, 84, 168, 336, 672, 1344, 2000} and len(counts) == 1
    for variant in lossy["variants"][1:]:
        assert variant["gain_high"] - variant["gain_low"] <= 0.4 * variant["gain"]
    assert [len(variant["runs"]) for variant in clean["variants"]] == [1, 1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--until", "1%", "--runs", "5"], "leave out --runs, or --until"),
        (["--until", "1"], "--until: '1' is no share"),
    ],
)
def test_until_is_a_percentage_in_place_of_runs(
    loadstone: Command, small: str, options: list[str], says: str
) -> None:
    result = loadstone("compare", small, *options)
    assert (result.code, result.out) == (2, "")
    assert says in result.err and result.err.count("\n") == 1
