"""Links that follow a recording in Mahimahi's format."""

import gzip
import json
from pathlib import Path

import pytest

from conftest import Command

EVERY_MS = "".join(f"{ms}\n" for ms in range(1, 1001))


@pytest.fixture
def steady(tmp_path: Path) -> str:
    """Write a trace of one packet a millisecond: 12 Mbit/s."""
    path = tmp_path / "steady.down.gz"
    path.write_bytes(gzip.compress(EVERY_MS.encode()))
    return str(path)


def plt(loadstone: Command, network: str) -> float:
    page = "synthetic:objects=1,size=1MB,scheme=http"
    return float(loadstone("load", page, "--network", network, "--json").document["median_plt_ms"])


def test_a_trace_of_even_opportunities_is_a_rate(loadstone: Command, steady: str) -> None:
    even = plt(loadstone, "12/1000mbit,40ms,queue=1000p")
    traced = plt(loadstone, f"12/1000mbit,40ms,queue=1000p,trace={steady}")
    # Each flight waits at most for the next opportunity; small packets share one.
    assert even - 2 < traced < even + 10


def test_each_direction_can_have_its_own(loadstone: Command, steady: str) -> None:
    down = plt(loadstone, f"1gbit,40ms,trace={steady}")
    both = plt(loadstone, f"1gbit,40ms,trace={steady},trace-up={steady}")
    # Acknowledgements that come in whole milliseconds shift the load, not always to the later.
    assert both != down > plt(loadstone, "1gbit,40ms")


def test_a_bad_line_is_named(loadstone: Command, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("1\n2\nthree\n")
    result = loadstone("load", "synthetic:B", "--network", f"10mbit,40ms,trace={tmp_path}/t")
    assert result.code == 2 and "line 3: 'three'" in result.err and result.err.count("\n") == 1


def test_a_scenario_file_holds_its_traces(loadstone: Command, tmp_path: Path) -> None:
    page = {"objects": [{"url": "http://a.test/", "bytes": 1000}]}
    scenario = {"page": page, "network": "10mbit,40ms,trace=t", "traces": {"t": EVERY_MS}}
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(scenario))
    assert loadstone("load", "--scenario", path).code == 0
    path.write_text(json.dumps({**scenario, "traces": {}}))
    result = loadstone("load", "--scenario", path)
    assert result.code == 2 and "scenario.network" in result.err and "'t'" in result.err
