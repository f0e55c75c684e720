"""What a terminal would obey in text of strangers, and what a shell is told to complete."""

import io
import json
import os
import struct
import subprocess
import sys

import pytest

from conftest import Command
from loadstone import text
from loadstone.cli import console


def test_decode_escapes_it(loadstone: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """CSI as one byte (C1) and DEL: HTTP/2 forbids neither."""
    block = b"\x82\x00\x01x\x05a\x9b2J\x7f"
    frame = struct.pack(">I", len(block))[1:] + b"\x01\x05" + struct.pack(">I", 1) + block
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(frame)))
    result = loadstone("decode", "--protocol", "h2")
    assert result.code == 0 and r"a\u009b2J\u007f" in result.out
    assert json.loads(result.out)["headers"][1] == ["x", "a\x9b2J\x7f"]


@pytest.mark.parametrize("char", ["\x1b", "\x7f", "\x9b", "\u202a", "\u202e", "\u2066", "\u2069"])
def test_text_output_replaces_it(char: str, capsys: pytest.CaptureFixture[str]) -> None:
    console.emit(f"a page{char}\nof two lines \u00e9")
    console.say(f"no{char}")
    assert capsys.readouterr() == ("a page\ufffd\nof two lines \u00e9\n", "loadstone: no\ufffd\n")


@pytest.mark.parametrize("columns", [50, 64, 100])
def test_text_keeps_to_the_width_of_the_terminal(
    loadstone: Command, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for verb in (["compare"], ["load", "--waterfall"]):
        shown = loadstone(*verb, "example:shop", "--network", "cable", "--runs", "7").out
        assert 0.8 * columns < max(map(len, shown.splitlines())) <= columns


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_told_how_to_complete_the_command(shell: str) -> None:
    def asked(what: str, **more: str) -> str:
        environment = {**os.environ, "_LOADSTONE_COMPLETE": f"{shell}_{what}", **more}
        command = [sys.executable, "-m", "loadstone"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout

    assert "_LOADSTONE_COMPLETE" in asked("source")
    # fish gives the words and the one that is begun, the others its place among them.
    begun = "--cc" if shell == "fish" else "2"
    said = asked("complete", COMP_WORDS="loadstone load --cc", COMP_CWORD=begun)
    assert "--cc" in said and "--iw" not in said


ROWS = [["", "variant", "gain"], ["*", "h2 " * 30, "1.00"], ["", "[red]a", "12.00"]]


def terminal(monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"COLUMNS": "60", "TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)


def test_a_table_fits_the_terminal_and_has_a_bold_head(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch)
    head, *body = text.table(ROWS, left=2).split("\n")
    assert head.startswith("\x1b[1m") and head.endswith("\x1b[0m")
    assert max(map(len, body)) <= 60 and body[-1].endswith("12.00")
    assert "".join(body).count("h2") == 30 and "[red]a" in body[-1]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_styles_where_they_are_not_wanted(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    terminal(monkeypatch, **environment)
    assert "\x1b" not in text.table(ROWS, left=2)


def test_a_pipe_gets_every_row_on_a_line() -> None:
    assert len(text.table(ROWS, left=2).split("\n")) == 3
