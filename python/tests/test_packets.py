"""The packets of a load as a file, and the first one that two loads do not have alike."""

import csv
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from loadstone import packets

SHORT = ["--network", "10/1mbit,100ms,queue=3p", "--iw", "20"]
"""A queue that the first flight overflows."""


@pytest.fixture
def captured(loadstone: Command, small: str, tmp_path: Path) -> Any:
    """Load the small page and give the path of its packets."""

    def load(name: str, *options: str) -> str:
        path = str(tmp_path / name)
        assert loadstone("load", small, *SHORT, "--packets", path, *options).code == 0
        return path

    return load


def test_the_packets_are_those_that_the_load_counts(loadstone: Command, small: str, tmp_path: Path) -> None:
    path = tmp_path / "packets.csv"
    (run,) = loadstone("load", small, *SHORT, "--packets", str(path), "--json").document["runs"]
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for way in ("down", "up"):
        lengths = [int(row["bytes"]) for row in rows if row["way"] == way]
        assert (len(lengths), sum(lengths)) == (run[f"packets_{way}"], run[f"bytes_{way}"])
    assert {row["fate"] for row in rows} == {"delivered", "queue", "underway"}
    assert {row["host"] for row in rows} == {"a.test", "b.test"}
    assert {int(row["connection"]) for row in rows} == set(range(run["connections"]))
    first = rows[0]
    assert (first["time_ms"], first["way"], first["flags"], first["seq"]) == ("0.000000", "up", "S", "0")
    delivered = [float(row["due_ms"]) for row in rows if row["fate"] == "delivered" and row["len"] != "0"]
    assert max(delivered) == pytest.approx(run["plt_ms"])


def test_a_load_is_the_same_with_and_without(loadstone: Command, small: str, tmp_path: Path) -> None:
    chosen = ["load", small, *SHORT, "--json"]
    with_packets = loadstone(*chosen, "--packets", str(tmp_path / "packets.csv")).document
    assert loadstone(*chosen, "--exact").document == with_packets


def test_several_loads_have_no_one_file(loadstone: Command, tmp_path: Path) -> None:
    path = tmp_path / "packets.csv"
    result = loadstone("load", "synthetic:A", "--network", "dsl-lossy", "--packets", str(path))
    assert (result.code, path.exists()) == (2, False)
    assert "--packets" in result.err and "21" in result.err and "--runs 1" in result.err


def test_a_file_that_cannot_be_written_is_an_error_before_the_load(
    loadstone: Command, tmp_path: Path
) -> None:
    result = loadstone("load", "synthetic:A", "--packets", str(tmp_path / "nowhere" / "packets.csv"))
    assert (result.code, result.out) == (2, "") and "there is no folder" in result.err


def test_it_is_said_that_there_were_more(
    loadstone: Command, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packets, "LIMIT", 10)
    path = tmp_path / "packets.csv"
    result = loadstone("load", small, *SHORT, "--packets", str(path))
    assert result.code == 0 and len(path.read_text().splitlines()) == 1 + 10
    assert "only the first 10 packets" in result.err


def test_a_load_parts_nowhere_from_itself(loadstone: Command, captured: Any) -> None:
    one, other = captured("one.csv"), captured("other.csv")
    assert Path(one).read_bytes() == Path(other).read_bytes()
    assert "there is no other" in loadstone("packets", one, other).out
    assert loadstone("packets", one, other, "--json").document["parting"] is None


def test_two_loads_part_where_the_first_packet_differs(loadstone: Command, captured: Any) -> None:
    # Where a window of 20 goes on, one of 3 waits for an acknowledgement.
    roomy = ["--network", "10/1mbit,100ms"]
    one, other = captured("one.csv", *roomy), captured("other.csv", *roomy, "--iw", "3")
    document = loadstone("packets", one, other, "--json").document
    parting = document["parting"]
    here, there = parting["packets"]
    assert (parting["way"], parting["connection"]) == ("down", 0)
    assert float(here["time_ms"]) + 100 < float(there["time_ms"])
    assert here["seq"] == there["seq"] and "ms later" in parting["because"]
    with Path(one).open(newline="") as file:
        times = [float(row["time_ms"]) for row in csv.DictReader(file)]
    assert document["alike"] == sum(time < float(here["time_ms"]) for time in times)
    said = loadstone("packets", one, other, "--around", "2").out
    assert f"packet {parting['number']} of connection 0, down, comes" in said
    assert said.count("\n> ") == 2 and one in said and other in said


def test_what_one_file_lacks_is_a_parting(loadstone: Command, captured: Any, tmp_path: Path) -> None:
    one = captured("one.csv")
    shorter = tmp_path / "shorter.csv"
    shorter.write_text("".join(Path(one).read_text().splitlines(keepends=True)[:-1]))
    parting = loadstone("packets", one, str(shorter), "--json").document["parting"]
    assert parting["because"] == "is in one of the files only" and parting["packets"][1] is None
    assert "in one of the files only" in loadstone("packets", one, str(shorter)).out


def test_times_may_differ_by_as_much_as_is_allowed(loadstone: Command, captured: Any, tmp_path: Path) -> None:
    one = captured("one.csv")
    later = tmp_path / "later.csv"
    head, *lines = Path(one).read_text().splitlines()
    moved = [f"{float(time) + 0.9:.6f},{rest}" for time, rest in (line.split(",", 1) for line in lines)]
    later.write_text("\n".join([head, *moved]) + "\n")
    assert "there is no other" in loadstone("packets", one, str(later)).out
    strict = loadstone("packets", one, str(later), "--tolerance", "0.5").out
    assert "comes 0.900 ms later" in strict


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a,b\n1,2\n", "no file of packets"), ("HEAD\n1,2\n", "line 2"), ("HEAD\nx,,,,,,,,,,,\n", "line 2")],
)
def test_another_file_is_refused(
    loadstone: Command, captured: Any, tmp_path: Path, text: str, expected: str
) -> None:
    one = captured("one.csv")
    head = Path(one).read_text().splitlines()[0]
    path = tmp_path / "other.csv"
    path.write_text(text.replace("HEAD", head))
    result = loadstone("packets", one, str(path))
    assert result.code == 2 and str(path) in result.err and expected in result.err
