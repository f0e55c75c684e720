"""Links that follow a recording in Mahimahi's format."""

import gzip
import json
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from conftest import ROOT, Command

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


def test_a_trace_needs_no_rate_beside_it(loadstone: Command, steady: str) -> None:
    page = "synthetic:objects=1,size=1MB"
    document = loadstone("load", page, "--network", f"trace={steady},40ms", "--json").document
    assert document["network"] == "trace=steady.down.gz,40ms"
    # Its mean rate sizes the queue, and is the other direction's.
    same = loadstone("load", page, "--network", f"12mbit,40ms,trace={steady}", "--exact", "--json").document
    exact = loadstone("load", page, "--network", f"trace={steady},40ms", "--exact", "--json").document
    assert same["runs"] == exact["runs"]


def test_recordings_of_other_forms_are_told_apart(loadstone: Command, tmp_path: Path) -> None:
    """Lumos5G has seconds with rates; many come in archives."""
    trace = tmp_path / "walk"
    asked = ("load", "synthetic:A", "--network", f"trace={trace},40ms")
    trace.write_text("0 65.0\n1 70.5\n")
    result = loadstone(*asked)
    assert result.code == 2 and "line 1: '0 65.0' has several columns" in result.err
    assert "docs/networks.md#traces" in result.err and "## Traces" in (ROOT / "docs/networks.md").read_text()
    with tarfile.open(trace, "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("walk.txt"))
    result = loadstone(*asked)
    assert result.code == 2 and "walk: no text: unpack it first" in result.err


def test_seconds_with_rates_become_a_trace_as_the_docs_say(loadstone: Command, tmp_path: Path) -> None:
    (command,) = re.findall(
        r"^    (awk .*) (?:\S+) > (?:\S+)$", (ROOT / "docs/networks.md").read_text(), re.M
    )
    (tmp_path / "rates.txt").write_text("0 24\n1 0\n2 12\n")
    shown = subprocess.run(f"{command} rates.txt", shell=True, cwd=tmp_path, capture_output=True, check=True)
    times = [int(line) for line in shown.stdout.split()]
    assert [sum(at * 1000 <= ms < (at + 1) * 1000 for ms in times) for at in range(3)] == [2000, 0, 1000]
    (tmp_path / "t").write_bytes(shown.stdout)
    assert loadstone("load", "synthetic:A", "--network", f"trace={tmp_path}/t,40ms").code == 0


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
