"""How `scripts/conformance` judges what suites of others say; `scripts/check` runs the suites themselves."""

from pathlib import Path
from typing import Any

import pytest

from conformance import __main__, cache_tests, h2spec, programs
from conformance.cache_tests import Judged
from conformance.programs import MissingError
from conformance.tally import Tally, shown


def judged(name: str, kind: str, verdict: str) -> Judged:
    return {"id": name, "kind": kind, "verdict": verdict, "why": f"why {name}"}


def test_cache_tests_are_counted_by_what_they_ask_for() -> None:
    tests = [
        judged("a", "required", "passed"),
        judged("b", "required", "failed"),
        judged("c", "required", "its setup failed"),
        judged("d", "required", "failed"),
        judged("e", "required", "not answered"),
        judged("f", "optimal", "failed"),
        judged("g", "check", "yes"),
        judged("h", "check", "no"),
    ]
    old = {"d": "a later standard says otherwise", "e": "the same"}
    required, optional, behaviours = cache_tests.tallies("suite", tests, old)
    assert required.counts == (1, 2, 1, 1)
    assert required.failed == ["b: why b", "e: why e"], "what was not answered is excused by nothing"
    assert required.excused == ["d: a later standard says otherwise"]
    assert required.unjudged == ["c: its setup failed"]
    assert (optional.counts, behaviours.counts) == ((0, 1, 0, 0), (1, 1, 0, 0))
    assert [tally.holds for tally in (required, optional, behaviours)] == [False, True, True]


def test_what_is_excused_is_there_to_be_excused() -> None:
    """All of them are tests of how Age is parsed: no other is an older standard's."""
    assert len(cache_tests.SUPERSEDED) == 9
    assert all(name.startswith("age-parse-") for name in cache_tests.SUPERSEDED)


@pytest.mark.parametrize(
    ("tally", "holds"),
    [
        (Tally("all", 5), True),
        (Tally("one", 5, ["x"]), False),
        (Tally("excused", 5, excused=["x"], unjudged=["y"]), True),
        (Tally("nothing ran", 0, unjudged=["y"]), False),
        (Tally("only a wish", 5, ["x"], binding=False), True),
    ],
)
def test_a_required_failure_and_a_suite_that_ran_nothing_do_not_hold(tally: Tally, holds: bool) -> None:
    assert tally.holds is holds


def test_the_table_counts_all_and_ends_with_what_does_not_hold() -> None:
    table = shown(
        [
            Tally("one", 12, ["x: bad"], ["y: old"], ["z: late"]),
            Tally("two", 3, ["quiet"], binding=False, named=False),
            Tally("wish", 2, ["w: no"], binding=False),
            Tally("none"),
        ]
    )
    assert table.splitlines() == [
        "          passed      failed     excused  not judged",
        "one           12           1           1           1",
        "two            3           1           0           0",
        "wish           2           1           0           0",
        "none           0           0           0           0",
        "",
        "one, excused:",
        "  y: old",
        "",
        "one, not judged:",
        "  z: late",
        "",
        "wish, failed:",
        "  w: no",
        "",
        "one fails:",
        "  x: bad",
        "",
        "none fails:",
        "  no test has passed",
    ]


def test_cases_of_h2spec_are_read_from_its_report() -> None:
    report = """<testsuites><testsuite name="3.1. DATA">
        <testcase classname="good"></testcase>
        <testcase classname="bad"><failure>
            why
            it is</failure></testcase>
        <testcase classname="broken"><error>x</error></testcase>
        <testcase classname="left"><skipped></skipped></testcase>
    </testsuite>
    <testsuite name="3.2. HEADERS"><testcase classname="good"></testcase></testsuite></testsuites>"""
    tally = h2spec.tally("h2spec", report)
    assert tally.counts == (2, 2, 0, 1)
    assert tally.failed == ["3.1. DATA: bad: why it is", "3.1. DATA: broken: x"]
    assert not tally.holds


def test_what_is_not_here_is_left_out_aloud_and_fails_where_nothing_may_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def nothing(*_: Any) -> list[Tally]:
        programs.made("cache-tests")
        raise AssertionError("it is not there")

    monkeypatch.setattr(programs, "MADE", tmp_path)
    monkeypatch.setattr(cache_tests, "run", nothing)
    monkeypatch.setattr(h2spec, "run", lambda: [Tally("h2spec", 146)])
    monkeypatch.setattr("sys.argv", ["conformance"])
    for nothing_may_be_left_out, code in (("", 0), ("1", 1)):
        monkeypatch.setenv("LOADSTONE_NO_SKIP", nothing_may_be_left_out)
        assert __main__.main() == code
        said = capsys.readouterr()
        assert "left out: no cache-tests in" in said.err
        assert "146" in said.out
    with pytest.raises(MissingError, match="'scripts/interop go' says why"):
        programs.made("go")
