"""`loadstone validate` as a user meets it, over a kernel that is none, and what is kept of a real one."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conftest import ROOT, Command
from live import KERNEL, FakeKernel
from loadstone import _native
from loadstone.studies.validation import accuracy, measurements
from loadstone.studies.validation.grid import QUICK

KEPT = sorted((ROOT / "studies" / "validation").glob("linux-*.csv*"))
# A dozen cells of all kinds.
ONLY = ("--only", "name=10KB", "--only", "name=30KB,loss=1%", "--only", "name=A,protocol=h2")


@pytest.fixture
def run_live(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[FakeKernel], None]:
    """Give the build a live runner; measurements go to a folder of their own."""
    monkeypatch.chdir(tmp_path)

    def install(kernel: FakeKernel) -> None:
        monkeypatch.setattr(_native, "run_live", kernel, raising=False)
        monkeypatch.setattr(_native, "live_access", lambda: None, raising=False)

    return install


@pytest.fixture
def kernel(run_live: Callable[[FakeKernel], None]) -> FakeKernel:
    fake = FakeKernel(lambda ms, chance: ms + chance.uniform(0.0, 0.2))
    run_live(fake)
    return fake


def test_it_measures_scores_and_says_what_is_met(loadstone: Command, kernel: FakeKernel) -> None:
    result = loadstone("validate", *ONLY)
    assert result.code == 0
    judged, worst, conditions = (result.out.split("\n\n")[at] for at in (1, 2, 3))
    goals = re.findall(r"(at most|at least|within \N{PLUS-MINUS SIGN})\s?\d+ %\s+(\S.*)", judged)
    assert len(goals) >= 7 and {met for _, met in goals} == {"met"}
    assert worst.splitlines()[0].split() == ["The", "worst", "cells", "kernel", "simulated", "off", "by"]
    assert "met a pause" in conditions and "late by 0.05 ms" in conditions
    assert f"compared with Linux {KERNEL}" in result.out
    assert all(len(line) <= 100 for line in result.out.splitlines())


def test_the_measurements_are_in_the_folder_and_are_not_taken_twice(
    loadstone: Command, kernel: FakeKernel, tmp_path: Path
) -> None:
    first = loadstone("validate", *ONLY)
    asked = len(kernel.asked)
    kept = measurements.read(str(tmp_path / "validation.csv"))
    assert asked >= len(kept.measurements) > 30
    again = loadstone("validate", *ONLY)
    assert len(kernel.asked) == asked
    assert again.out == first.out
    assert "validation.csv: all loads are there" in again.err or "left out" in again.err
    scored = loadstone("validate", "--kept", "--measurements", "validation.csv", *ONLY)
    assert "median error" in scored.out and (scored.code, scored.err) == (0, "")
    # The same figures; cells of which nothing is there are not counted.
    assert scored.out.split("\n\n")[1] == first.out.split("\n\n")[1]


def test_the_document_has_every_cell_and_every_row(loadstone: Command, kernel: FakeKernel) -> None:
    document = loadstone("validate", *ONLY, "--json").document
    default = json.loads(QUICK.cells[0].scenario().to_json())["variant"]["tcp"]["profile"]
    assert (document["kernel"], document["profile"]) == (KERNEL, default)
    names = [group["group"] for group in document["groups"]]
    assert names[:3] == ["objects", "pages", "loss"]
    for group in document["groups"][:3]:
        for row in group["rows"]:
            assert row["met"] is (None if row["goal"] is None else True), row
    cells = QUICK.only(ONLY[1::2]).cells
    assert len(document["cells"]) + len(document["unfinished"]) + len(document["not_modelled"]) == len(cells)
    for cell in document["cells"]:
        error = 100 * (cell["simulated_plt_ms"] - cell["measured_plt_ms"]) / cell["measured_plt_ms"]
        assert cell["error"] == pytest.approx(error)
        assert cell["least_plt_ms"] <= cell["measured_plt_ms"] <= cell["most_plt_ms"]
        assert ("p_value" in cell) == (cell["loss"] == "1%") == ("beyond_range" not in cell)
        assert cell["measured_packets_down"] == cell["simulated_packets_down"]


def test_the_report_is_the_same_each_time_and_tells_the_figures(
    loadstone: Command, kernel: FakeKernel, tmp_path: Path
) -> None:
    shown = loadstone("validate", *ONLY, "-o", ".").out
    page, plot = ((tmp_path / name).read_text() for name in ("validation.md", "validation.svg"))
    loadstone("validate", *ONLY, "-o", ".")
    assert ((tmp_path / "validation.md").read_text(), (tmp_path / "validation.svg").read_text()) == (
        page,
        plot,
    )
    for figure in re.findall(r"-?\d+\.\d\d %", shown.split("\n\n")[1]):
        assert f"| {figure} |" in page
    for expected in (
        "the range of the kernel's repeats |",
        "## Method",
        "## Conditions",
        "## The worst cells",
        "](validation.svg)",
        KERNEL,
    ):
        assert expected in page
    # Every table has as many fields in each row as in its head.
    for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1
    texts = {
        "".join(text.itertext()).strip() for text in ElementTree.fromstring(plot).iter() if "text" in text.tag
    }
    assert {"Error of every cell", "congestion control", "cubic", "10KB", "A"} <= texts
    assert "<dc:date>" not in plot


def test_where_to_write_is_known_before_anything_is_measured(loadstone: Command, kernel: FakeKernel) -> None:
    result = loadstone("validate", "-o", "nowhere")
    assert (result.code, result.out) == (2, "")
    assert "nowhere" in result.err and kernel.asked == []


def test_minutes_and_loads_at_once_are_heeded(loadstone: Command, kernel: FakeKernel) -> None:
    result = loadstone("validate", *ONLY, "--minutes", "1e-9", "--at-once", "1")
    assert (result.code, result.out) == (2, "")
    assert "nothing was measured" in result.err and kernel.asked == []
    loadstone("validate", *ONLY, "--at-once", "2")
    assert kernel.most_at_once <= 2


def test_without_a_live_runner_the_remedy_is_named(
    loadstone: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(_native, "run_live", raising=False)
    result = loadstone("validate")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "no live runner" in result.err and "--kept" in result.err


def test_why_this_process_may_not_run_live_is_said(
    loadstone: Command,
    run_live: Callable[[FakeKernel], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    run_live(FakeKernel())
    monkeypatch.setattr(_native, "live_access", lambda: "live runs need root: use sudo")
    result = loadstone("validate")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "live runs need root: use sudo" in result.err
    assert list(tmp_path.iterdir()) == []


BAD_USAGE = {
    "--kept --full": ["--full", "leave"],
    "--kept --minutes 3": ["--minutes", "leave"],
    "--kept --at-once 3": ["--at-once", "leave"],
    "--accept": ["--accept", "--kept"],
    "--kept --accept --only cc=reno": ["--accept", "alone"],
    "--kept --accept --measurements x.csv": ["--accept", "alone"],
    "--kept --measurements nowhere.csv": ["nowhere.csv", "no such file"],
    "--only colour=red": ["--only", "colour=red", "factors are"],
    "--only cc=vegas": ["--only", "cc=vegas", "reno"],
    "--at-once 0": ["--at-once"],
    "--at-once 9": ["--at-once"],
    "--minutes 0": ["--minutes"],
    "--measurements x.csv.gz": ["x.csv.gz", "decompress"],
    "--measurements nowhere/x.csv": ["nowhere/x.csv", "cannot be written"],
}


@pytest.mark.parametrize("usage", BAD_USAGE)
def test_bad_usage_is_one_line_and_code_2(loadstone: Command, kernel: FakeKernel, usage: str) -> None:
    result = loadstone("validate", *usage.split())
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1), result.err
    for expected in BAD_USAGE[usage]:
        assert expected in result.err
    assert kernel.asked == []


def test_a_worse_accuracy_fails_until_it_is_accepted(
    loadstone: Command, kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(accuracy, "FOLDER", tmp_path)
    monkeypatch.setattr(accuracy, "ACCEPTED", tmp_path / "accuracy.json")
    assert "no measurements are kept" in loadstone("validate", "--kept").err
    loadstone("validate", *ONLY, "--measurements", "linux-6.18.csv")
    nothing = loadstone("validate", "--kept")
    assert (nothing.code, "none was accepted yet" in nothing.err) == (1, True)
    assert loadstone("validate", "--kept", "--accept").code == 0
    held = loadstone("validate", "--kept")
    assert (held.code, held.err) == (0, "")
    accepted = json.loads((tmp_path / "accuracy.json").read_text())
    accepted["objects"]["p95"] -= 0.02
    (tmp_path / "accuracy.json").write_text(json.dumps(accepted))
    worse = loadstone("validate", "--kept")
    assert worse.code == 1 and worse.out == held.out
    assert "objects: p95" in worse.err and "--accept" in worse.err and worse.err.count("\n") == 1
    # Other measurements, or a part of these, are not what was accepted.
    assert loadstone("validate", "--kept", "--only", "cc=reno").code == 0
    assert loadstone("validate", "--kept", "--measurements", "linux-6.18.csv").code == 0
    (tmp_path / "linux-7.csv.gz").touch()
    assert "2 files of measurements are kept" in loadstone("validate", "--kept").err


@pytest.mark.parametrize("measurements", KEPT, ids=lambda path: path.name)
def test_the_kept_measurements_give_the_page_and_the_accuracy(
    loadstone: Command, tmp_path: Path, measurements: Path
) -> None:
    result = loadstone("validate", "--kept", "-o", str(tmp_path))
    assert (result.code, result.err) == (0, "")
    written = (tmp_path / "validation.md").read_text()
    assert written == (ROOT / "docs" / "validation.md").read_text(), "run 'loadstone validate --kept -o docs'"


def test_help_has_examples_and_loads_nothing_heavy(loadstone: Command) -> None:
    result = loadstone("validate", "--help")
    assert result.code == 0 and "Examples:\n    loadstone validate\n" in result.out
    code = (
        "import sys\n"
        "from loadstone import cli\n"
        "try: cli.main(['validate', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'jinja2', 'matplotlib', 'numpy', 'scipy', 'rich', 'loadstone.studies.validation'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stderr == "[]\n"
