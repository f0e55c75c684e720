"""Kinds of users in place of a network."""

from pathlib import Path

import pytest

from conftest import Command
from loadstone import users
from loadstone.files import InputError

HEAD = "name,weight,down,up,rtt,loss,queue\n"


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Users near by, and users with many losses, for whom one connection is worse than six."""
    path = tmp_path / "users.csv"
    path.write_text(f"{HEAD}near,80,50,10,20,,\nlossy,20,5,5,400,6%,200ms\n")
    return str(path)


def test_rows_are_networks(tmp_path: Path) -> None:
    path = tmp_path / "u.csv"
    path.write_text(
        "\ufeffWeight, down ,up,rtt,loss,queue\n2,10,1mbit,100,0.5%,\n1,1.5mbit,384kbit,50ms,,1000p\n"
    )
    one, other = users.read(str(path))
    assert (one.name, one.weight) == ("line 2", 2)
    assert one.network() == "10mbit/1mbit,100ms,loss=0.5%"
    assert one.network(2) == "10mbit/1mbit,100ms,loss=1%"
    assert other.network(2) == other.network() == "1.5mbit/384kbit,50ms,queue=1000p"


def test_who_gains_and_who_loses(loadstone: Command, file: str) -> None:
    compared = ("compare", "example:shop", "--network", file, "--variant", "http/1.1", "--variant", "h2")
    document = loadstone(*compared, "--json").document
    assert document["pages"][0]["networks"] == [] and document["baseline"] == "http/1.1"
    (found,) = document["users"]
    assert [kind["weight"] for kind in found["kinds"]] == [80, 20]
    (h2,) = found["variants"]
    assert (h2["name"], h2["gains"]) == ("h2", 0.8)
    assert h2["median_gain"] > 1
    assert all(loser["gain"] < 1 for loser in h2["losers"])
    assert {"loss_halved", "loss_doubled"} < set(found)
    words = loadstone(*compared).out
    assert words.startswith("example:shop for 2 kinds of users (users.csv), against http/1.1\n")
    assert "80 %" in words and "  loss doubled" in words


def test_users_stand_below_networks(loadstone: Command, file: str, tmp_path: Path) -> None:
    both = ("compare", "example:shop", "--network", "cable", "--network", file)
    words = loadstone(*both).out
    assert 0 < words.index("example:shop on cable") < words.index("example:shop for 2 kinds of users")
    assert len(loadstone(*both, "--json").document["pages"][0]["networks"]) == 1
    alone = loadstone("compare", "example:shop", "--network", file, "--html", tmp_path / "report.html")
    assert (alone.code, alone.out) == (2, "") and "give one beside the users" in alone.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("down,up\n", "line 1: no column weight or rtt"),
        ("weight,down,up,rtt\n", "no users"),
        ("weight,down,up,rtt,colour\n1,1,1,1,red\n", "unknown column 'colour'"),
        (f"{HEAD}a,1,10,,20,,\n", "line 2: no up"),
        (f"{HEAD}a,0,10,1,20,,\n", "line 2: give a weight above 0"),
        (f"{HEAD}a,x,10,1,20,,\n", "line 2: weight: 'x' is no number"),
        (f"{HEAD}a,1,10,1,20,100,\n", "a loss below 100"),
        (f"{HEAD}a,1,10,1,20,,,,,\n", "more values than the head has columns"),
        (f"{HEAD}" + "a,1,10,1,20,,\n" * 1001, "give at most 1,000"),
    ],
)
def test_what_is_no_file_of_users_is_said(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "u.csv"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        users.read(str(path))
    assert str(refused.value).startswith(f"{path}: ") and says in str(refused.value)


def test_users_are_read_before_anything_runs(
    loadstone: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object) -> None:
        raise AssertionError("nothing may run before everything is known to be right")

    monkeypatch.setattr("loadstone.experiment.run_many", run)
    path = tmp_path / "u.csv"
    path.write_text(f"{HEAD}a,1,10x,1,20,,\n")
    result = loadstone("compare", "example:shop", "--network", "cable", "--network", path)
    assert (result.code, result.out) == (2, "") and "10x" in result.err and result.err.count("\n") == 1
