"""A study that did not come with Loadstone."""

import shutil
from importlib import import_module
from pathlib import Path

import pytest

from conftest import Command

STUDY = '''"""A study of one claim."""

from loadstone.reproduce.evidence import of_matrix
from loadstone.reproduce.judge import Judge
from loadstone.reproduce.study import Cell, Results, Runner

from .laboratory import FOLDER, gain


def run(runner: Runner) -> Results:
    evidence = of_matrix(runner, runner.matrix(FOLDER / "matrix.toml"), compared="protocol")
    judge = Judge(FOLDER)
    judge.number("OWN01", evidence, gain)
    ours = gain(evidence.loads(1))
    return Results([Cell({"iw": 10}, "h2", 2.0, ours, "times")], [], judge.judged())
'''
LABORATORY = """from pathlib import Path

FOLDER = Path(__file__).parent


def gain(loads):
    of = {row["protocol"]: row["plt_ms"] for row in loads.to_dicts()}
    return of["http/1.1"] / of["h2"]
"""
CLAIMS = """id,kind,says,relation,value,most,unit,conditions,section,turned_by
OWN01,number,HTTP/2 is faster,gt,1,,times,one network,1,equal inverted
"""
MATRIX = """[factors]
page = ["synthetic:objects=32,size=1KB"]
protocol = ["http/1.1", "h2"]
network = ["10/1mbit,100ms"]
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "study.toml").write_text('title = "Is it faster?"\nsource = "nobody, 2026"\n')
    (folder / "__init__.py").write_text(STUDY)
    (folder / "laboratory.py").write_text(LABORATORY)
    (folder / "claims.csv").write_text(CLAIMS)
    (folder / "matrix.toml").write_text(MATRIX)
    return folder


def _refused(loadstone: Command, *arguments: str) -> str:
    ran = loadstone(*arguments)
    assert ran.code == 2
    return ran.err


def test_a_folder_of_that_form_is_a_study(loadstone: Command, own: Path) -> None:
    found = loadstone("reproduce", str(own), "--trust", "--json").document
    assert found["claims"][0]["verdict"] == "confirmed"
    assert found["cells"][0]["ours"] > 1.5
    said = loadstone("reproduce", str(own), "--trust").out
    said_of_all = "Of 1 claim: 1 confirmed, 0 contradicted, 0 undecided, 0 not testable."
    assert said_of_all in said, "none of these is left out of 1"
    altered = found["claims"][0]["altered"]
    assert not altered["equal"] and not altered["inverted"] and altered["halved"] and altered["doubled"]


def test_nobody_s_code_is_run_unasked(loadstone: Command, own: Path) -> None:
    (own / "__init__.py").write_text("raise SystemExit('it was run')")
    refused = _refused(loadstone, "reproduce", str(own))
    assert "can do whatever you can" in refused and "--trust" in refused
    assert "it was run" not in refused


def test_what_is_no_study_says_what_is_missing(loadstone: Command, own: Path) -> None:
    assert "neither a study (cablelabs, yahoo" in _refused(loadstone, "reproduce", "nonesuch")
    (own / "claims.csv").write_text("id,kind\nOWN01,number\n")
    assert "claims.csv: line 2: a claim needs says, rel" in _refused(
        loadstone, "reproduce", str(own), "--trust"
    )
    (own / "study.toml").write_text('title = "No source"\n')
    assert "study.toml: give title and source" in _refused(loadstone, "reproduce", str(own), "--trust")
    (own / "study.toml").write_text('title = "a"\nsource = "b"\n')
    (own / "__init__.py").write_text("")
    assert "no function run(runner)" in _refused(loadstone, "reproduce", str(own), "--trust")
    (own / "__init__.py").unlink()
    assert "__init__.py: there is no such file" in _refused(loadstone, "reproduce", str(own), "--trust")


def test_runs_are_kept_so_that_a_study_goes_on_where_it_was_broken_off(
    loadstone: Command, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("reproduce", str(own), "--trust", "-o", tmp_path / "out", "--json")
    first = loadstone(*words).document
    kept = sorted((tmp_path / "out" / "runs").rglob("*.parquet"))
    assert kept
    monkeypatch.setattr(import_module("loadstone.stores.sweep"), "_here", None)
    assert loadstone(*words).document == first, "nothing is run again"


def test_several_studies_are_run_by_one_command(loadstone: Command, own: Path, tmp_path: Path) -> None:
    other = own.rename(tmp_path / "other")
    again = Path(shutil.copytree(other, tmp_path / "own"))
    out = tmp_path / "out"
    found = loadstone("reproduce", str(other), str(again), "--trust", "-o", out, "--json").document
    assert [study["study"] for study in found["studies"]] == ["other", "own"]
    assert all((out / name / "claims.csv").is_file() for name in ("other", "own"))
    assert "By what could each claim fail?" in (out / "own" / "report.md").read_text()
