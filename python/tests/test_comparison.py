"""Which variant is best, from outcomes that are made up."""

import json
from dataclasses import dataclass

import pytest

from loadstone import comparison, experiment, report
from loadstone.pages import Page

PAGE = Page("made.up", '{"objects": [{"url": "http://a.test/", "bytes": 1}]}', {})
BASE, LARGER, OTHER, BOTH, *REST = comparison.VARIANTS


@dataclass
class Made:
    seed: int
    plt_ms: float
    completed: bool = True

    def account(self) -> None:
        """Have nothing to tell: what accounts are worth is tested with the reasons."""


def compare(
    monkeypatch: pytest.MonkeyPatch, network: str, runs: int, outcomes: dict[str, object]
) -> comparison.NetworkResult:
    """Compare with `outcomes`, a function of the seed for each variant, in place of the engine's.

    Variants that are not mentioned are slow.
    """
    outcomes = {**dict.fromkeys(REST, steady(900)), **outcomes}

    def run_many(jobs: list, *_: object) -> list[Made]:
        return [made(json.loads(scenario.to_json())["variant"], seed) for scenario, seed in jobs]

    def made(variant: dict, seed: int) -> Made:
        return outcomes[f"{variant['protocol']} IW {variant['tcp']['iw']}"](seed)

    monkeypatch.setattr(experiment, "run_many", run_many)
    (result,) = comparison.compare([PAGE], [network], {}, runs, None, lambda done, total: None)
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
    assert f"Best: {LARGER}, 1.50 times as fast as {BASE}" in report.compare_text(
        [comparison.PageResult("made.up", [result])]
    )


def test_of_equals_the_first_is_best_and_the_others_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {BASE: steady(300), LARGER: steady(200), OTHER: steady(300), BOTH: steady(200)}
    result = compare(monkeypatch, "dsl", 1, times)
    assert (result.best.name, result.rivals) == (LARGER, [BOTH])


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
    assert (result.best.name, result.rivals) == (LARGER, [BASE])
    assert "No clear winner" in report.compare_text([comparison.PageResult("made.up", [result])])
