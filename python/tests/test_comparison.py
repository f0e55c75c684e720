"""Which variant is best, from outcomes that are made up."""

import json
import random
from dataclasses import dataclass

import pytest

from loadstone import comparison, experiment, variants, verb_output
from loadstone.experiment import EXACT
from loadstone.pages import Page, of_document
from loadstone.stats import Until

PAGE = Page("made.up", of_document({"objects": [{"url": "http://a.test/", "bytes": 1}]}))
NAMES = [f"{protocol} IW {iw}" for protocol in ("http/1.1", "h2", "spdy/3.1") for iw in (3, 10)]
COMPARED = variants.variants(
    [PAGE],
    [f"protocol={name.split()[0]},iw={name.split()[2]},name={name}" for name in NAMES],
)
BASE, LARGER, OTHER, BOTH, *_ = NAMES


@dataclass
class Made:
    seed: int
    plt_ms: float
    completed: bool = True

    def account(self) -> None:
        """Have nothing to tell: what accounts are worth is tested with the reasons."""


def compare(
    monkeypatch: pytest.MonkeyPatch, network: str, runs: int | Until, outcomes: dict[str, object]
) -> comparison.NetworkResult:
    """Compare with `outcomes`, a function of the seed for each variant, in place of the engine's.

    Variants that are not mentioned are slow.
    """
    outcomes = {**dict.fromkeys(NAMES, steady(900)), **outcomes}

    def run_many(jobs: list, *_: object) -> list[Made]:
        return [made(json.loads(scenario.to_json())["variant"], seed) for scenario, seed in jobs]

    def made(variant: dict, seed: int) -> Made:
        return outcomes[f"{variant['protocol']} IW {variant['tcp']['iw']}"](seed)

    monkeypatch.setattr(experiment, "run_many", run_many)
    (result,) = comparison.compare([PAGE], COMPARED, [network], EXACT, runs, None, lambda done, total: None)
    return result.networks[0]


def steady(ms: float) -> object:
    """Give runs that differ by seed, around `ms`."""
    return lambda seed: Made(seed, ms * (1 + seed / 100))


def test_the_fastest_is_best_and_the_gain_is_over_the_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {BASE: steady(300), LARGER: steady(200), OTHER: steady(400), BOTH: steady(250)}
    result = compare(monkeypatch, "dsl-lossy", 9, times)
    assert (result.best.name, result.rivals) == (LARGER, [])
    assert [variant.gain and round(variant.gain.ratio, 9) for variant in result.variants[:4]] == [
        None,
        1.5,
        0.75,
        1.2,
    ]
    effect = "1.50 times as fast (95 %: 1.50 to 1.50): 105 ms of 315 ms saved; faster under 9 of 9 seeds"
    assert f"Best: {LARGER}, against {BASE} {effect}." == result.verdict


def test_of_equals_the_first_is_best_and_the_others_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {BASE: steady(300), LARGER: steady(200), OTHER: steady(300), BOTH: steady(200)}
    result = compare(monkeypatch, "dsl", 1, times)
    assert (result.fastest.name, result.equals, result.rivals) == (LARGER, [BOTH], [])
    assert result.best is result.fastest and result.verdict.endswith(f"; so is {BOTH}.")


def test_a_fast_variant_that_gives_up_is_not_best(monkeypatch: pytest.MonkeyPatch) -> None:
    def fast_but_failing(seed: int) -> Made:
        return Made(seed, 50, completed=seed % 3 > 0)

    times = {BASE: steady(300), LARGER: steady(200), OTHER: fast_but_failing, BOTH: steady(250)}
    result = compare(monkeypatch, "dsl-lossy", 9, times)
    assert result.best.name == LARGER
    assert [variant.completed for variant in result.variants[:4]] == [9, 9, 6, 9]
    # Compared over the seeds under which both were completed: 1, 2, 4, 5, 7, 8.
    assert result.variants[2].gain.ratio == pytest.approx(300 * 1.045 / 50)


def test_what_chance_may_explain_is_no_win(monkeypatch: pytest.MonkeyPatch) -> None:
    def erratic(seed: int) -> Made:
        return Made(seed, 280 if seed % 2 else 330)

    times = {BASE: steady(300), LARGER: erratic, OTHER: steady(500), BOTH: steady(600)}
    result = compare(monkeypatch, "dsl-lossy", 9, times)
    assert (result.fastest.name, result.rivals, result.best) == (LARGER, [BASE], None)
    assert "No clear winner" in verb_output.compare_text([comparison.PageResult("made.up", None, [result])])


def test_where_all_are_within_one_percent_it_hardly_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {variant: steady(300 - at / 2) for at, variant in enumerate(NAMES)}
    result = compare(monkeypatch, "dsl-lossy", 9, times)
    assert result.is_alike and result.best is None
    said = verb_output.compare_text([comparison.PageResult("made.up", None, [result])])
    assert f"It hardly matters here: every variant is within 1 % of {BASE}." in said
    assert not any(line.startswith("*") for line in said.splitlines())


def chancy(ms: float, share: float) -> object:
    """Give runs that lie up to `share` around `ms`, without a pattern that another variant shares."""
    return lambda seed: Made(seed, ms * (1 + share * random.Random(f"{ms} {seed}").uniform(-1, 1)))


def test_runs_go_on_until_every_gain_is_known_well_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    # A median of n runs that lie evenly within 10 % is known within 0.2 / sqrt(n), a gain of two such within
    # 0.28 / sqrt(n): 20 % takes no more than the first look, 2 % not less than 200 runs.
    times = {variant: chancy(300 - at, 0.1) for at, variant in enumerate(NAMES)}
    coarse = compare(monkeypatch, "dsl-lossy", Until(0.2), times)
    fine = compare(monkeypatch, "dsl-lossy", Until(0.02), times)
    runs = len(fine.variants[0].outcomes)
    assert len(coarse.variants[0].outcomes) == 21
    assert runs in {336, 672, 1344}
    assert fine.is_known and coarse.is_known
    for variant in fine.variants[1:]:
        assert variant.gain.half_width <= 0.02
        assert [outcome.seed for outcome in variant.outcomes] == list(range(1, runs + 1))
    assert verb_output.runs_text(fine) == (
        f"{runs:,} runs per variant, seeds 1-{runs}; every gain is known within 2 %"
    )


def test_the_most_runs_end_it_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {BASE: chancy(300, 0.5), LARGER: chancy(200, 0.5)}
    result = compare(monkeypatch, "dsl-lossy", Until(0.001, 42), times)
    assert (len(result.variants[0].outcomes), result.is_known) == (42, False)
    assert verb_output.runs_text(result) == (
        "42 runs per variant, seeds 1-42, the most; not every gain is known within 0.1 %"
    )


def test_an_interval_that_was_looked_at_before_is_wider(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {BASE: chancy(300, 0.5), LARGER: chancy(200, 0.5)}
    looked = compare(monkeypatch, "dsl-lossy", Until(0.001, 42), times).variants[1].gain
    once = compare(monkeypatch, "dsl-lossy", 42, times).variants[1].gain
    assert looked.ratio == once.ratio
    assert looked.low < once.low < once.high < looked.high


def test_where_chance_has_no_part_one_run_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    result = compare(monkeypatch, "dsl", Until(0.01), {BASE: steady(300)})
    assert (len(result.variants[0].outcomes), result.is_known) == (1, True)


def test_a_variant_that_is_never_completed_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {BASE: steady(300), LARGER: lambda seed: Made(seed, 50, completed=False)}
    result = compare(monkeypatch, "dsl-lossy", Until(0.01), times)
    assert (len(result.variants[0].outcomes), result.is_known) == (21, True)


def test_a_network_whose_gains_are_known_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def run_many(jobs: list, *_: object) -> list[Made]:
        asked.extend(json.loads(scenario.to_json())["network"] for scenario, _ in jobs)
        return [made(scenario, seed) for scenario, seed in jobs]

    def made(scenario: object, seed: int) -> Made:
        fields = json.loads(scenario.to_json())
        is_wild = fields["network"].startswith("1mbit")
        return chancy(fields["variant"]["tcp"]["iw"] * 100, 0.5 if is_wild else 0.01)(seed)

    monkeypatch.setattr(experiment, "run_many", run_many)
    told = []
    networks = ["10mbit,100ms,1%", "1mbit,100ms,1%"]
    (result,) = comparison.compare(
        [PAGE], COMPARED, networks, {}, Until(0.05, 84), None, lambda *two: told.append(two)
    )
    assert [len(network.variants[0].outcomes) for network in result.networks] == [21, 84]
    assert len(asked) == 6 * (21 + 84)
    assert told[-1] == (len(asked), len(asked))
