"""One scenario and one seed give one output, however often and on however many threads."""

import json

import pytest

from conftest import EXAMPLES, ROOT, Command
from loadstone import Scenario, run_many

LOADS = {
    "synthetic": ["load", "synthetic:B", "--network", "dsl-lossy", "--runs", "9", "--waterfall"],
    "har": ["load", str(EXAMPLES / "shop.har"), "--network", "dsl-lossy", "--runs", "9", "--waterfall"],
    "compare": ["compare", str(EXAMPLES / "news.page.json"), "--network", "dsl-lossy", "--runs", "7"],
}


@pytest.mark.parametrize("load", LOADS)
def test_repeats_and_threads_change_no_byte(loadstone: Command, load: str) -> None:
    outputs = [
        loadstone(*LOADS[load], "--json", *threads).out
        for threads in ([], [], ["--threads", "1"], ["--threads", "2"], ["--threads", "5"])
    ]
    assert len(outputs[0]) > 1000
    assert set(outputs) == {outputs[0]}


def test_a_run_does_not_depend_on_its_neighbours() -> None:
    page = {"objects": [{"url": f"http://a.test/{n}", "bytes": 20_000} for n in range(12)]}
    scenario = Scenario(json.dumps({"page": page, "network": "dsl-lossy"}))
    together = run_many([(scenario, seed) for seed in range(20)])
    assert [outcome.seed for outcome in together] == list(range(20))
    for seed in (0, 7, 19):
        (alone,) = run_many([(scenario, seed)], threads=1)
        assert alone.waterfall() == together[seed].waterfall()
    assert len({outcome.plt_ms for outcome in together}) > 1


def test_a_scenario_read_back_gives_the_same_run() -> None:
    page = {"objects": [{"url": f"http://a.test/{n}", "bytes": 20_000} for n in range(12)]}
    scenario = Scenario(json.dumps({"page": page, "network": "10/1mbit,33.3ms,loss=0.7%,queue=20p"}))
    again = Scenario(scenario.to_json())
    assert again.to_json() == scenario.to_json()
    first, second = run_many([(scenario, 3), (again, 3)])
    assert first.waterfall() == second.waterfall()


def test_this_build_prints_the_pinned_results(loadstone: Command) -> None:
    """A Rust test holds debug builds to the same file; it was written by a release build with
    `loadstone load --scenario scenarios/first.json --runs 5 --json`."""
    pinned = (ROOT / "scenarios" / "pinned" / "first.json").read_text()
    output = loadstone("load", "--scenario", "scenarios/first.json", "--runs", "5", "--json").out
    assert output == pinned
