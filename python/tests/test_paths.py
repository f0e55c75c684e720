"""What a verb reads it never writes, and what it writes names no folder of the sender's machine."""

import json
import os
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import click
import pytest

from conftest import EXAMPLES, Command
from loadstone import paths
from loadstone.cli import loadstone as group
from loadstone.paths import PathType

NEEDED = {
    "compare": ["--assert", "plt(h2) > 0"],
    "decode": ["--protocol", "h2"],
    "load": ["--runs", "1"],
    "reproduce": ["nsdi"],
    "serve": ["--listen", "127.0.0.1:0"],
}
"""What a verb needs beside paths to get as far as to them."""


def _paths(verb: click.Command) -> list[click.Parameter]:
    return [parameter for parameter in verb.params if isinstance(parameter.type, PathType)]


def test_every_path_on_the_command_line_says_what_it_is_for() -> None:
    """By the definition of options: who adds one is asked what its path is for."""
    for name, verb in group.commands.items():
        for parameter in verb.params:
            metavar = parameter.metavar or ""
            names_path = re.search(r"\b(FILE|DIR|PAGE|BEFORE|AFTER|MATRIX|RECORDING)\b", metavar) is not None
            is_path = isinstance(parameter.type, PathType)
            assert is_path == (names_path or metavar == "NETWORK"), (name, parameter.name)
            if is_path:
                writes = "rite" in (getattr(parameter, "help", None) or "") or parameter.name in (
                    *("measurements", "folder"),
                )
                assert parameter.type.is_written == writes, (name, parameter.name)


def _clashes() -> Iterator[tuple[str, click.Parameter, click.Parameter]]:
    for name, verb in group.commands.items():
        for written, other in product(_paths(verb), _paths(verb)):
            if written.type.is_written and written is not other:
                yield name, written, other


def _words(parameter: click.Parameter, path: str) -> list[str]:
    value = f"10mbit,20ms,trace={path}" if parameter.type is paths.NETWORK else path
    return [parameter.opts[-1], value] if isinstance(parameter, click.Option) else [value]


def _spelled(path: Path, how: str) -> str:
    """Give another name of the same file."""
    other = path.with_name(f"{how}.other")
    if how == "symbolic link":
        other.symlink_to(path)
    elif how == "hard link":
        os.link(path, other)
    elif how == "detour":
        return f"{path.parent}/../{path.parent.name}//./{path.name}"
    return str(path if how == "same" else other)


CLASHES = [pytest.param(*each, id=f"{each[0]} {each[1].name} {each[2].name}") for each in _clashes()]


@pytest.mark.parametrize("how", ["same", "detour", "symbolic link", "hard link"])
@pytest.mark.parametrize(("verb", "written", "other"), CLASHES)
def test_no_output_is_an_input_or_another_output(
    loadstone: Command, tmp_path: Path, verb: str, written: click.Parameter, other: click.Parameter, how: str
) -> None:
    kept = tmp_path / "kept.har"
    kept.write_bytes((EXAMPLES / "shop.har").read_bytes())
    words = [*_words(written, _spelled(kept, how)), *_words(other, str(kept))]
    for needed in group.commands[verb].params:
        is_given = needed in (written, other)
        if isinstance(needed, click.Argument) and needed.type is not click.STRING and not is_given:
            words += ["synthetic:A"] if needed.required and needed.type is paths.PAGE else []
            words += [str(EXAMPLES / "shop.har")] if needed.required and needed.type is paths.READ else []
            words += [str(tmp_path)] if needed.required and needed.type is paths.READ_FOLDER else []
    result = loadstone(verb, *NEEDED.get(verb, []), *words)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1), result
    assert kept.read_bytes() == (EXAMPLES / "shop.har").read_bytes()
    if not (written.type.is_folder or other.type.is_folder):
        assert "as well: give each its own" in result.err


WRITES = {
    "html": ["compare", "{page}", "--html", "{out}"],
    "junit": ["compare", "{page}", "--assert", "plt(h2) > 0", "--junit", "{out}"],
    "markdown": ["compare", "{page}", "--assert", "plt(h2) > 0", "--markdown", "{out}"],
    "packets": ["load", "{page}", "--packets", "{out}"],
    "pcap": ["load", "{page}", "--pcap", "{out}"],
    "qlog": ["load", "{page}", "--qlog", "{out}"],
}


@pytest.mark.parametrize("kind", WRITES)
def test_a_file_of_another_kind_is_not_written_over_and_one_of_its_own_is(
    loadstone: Command, tmp_path: Path, kind: str
) -> None:
    out = tmp_path / "out"
    words = [word.format(page="synthetic:objects=2,size=1KB", out=out) for word in WRITES[kind]]
    others = [b"{}", b"# notes\n", b"<!doctype html>\n<p>mine", b"a,b\n", b'<?xml version="1.0"?>\n<a/>']
    for mine in [*others, (EXAMPLES / "shop.har").read_bytes()]:
        out.write_bytes(mine)
        result = loadstone(*words)
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert "give another name" in result.err and out.read_bytes() == mine
    out.write_bytes(b"")
    assert loadstone(*words).code == 0
    first = out.read_bytes()
    assert first and loadstone(*words).code == 0 and out.read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_report_in_the_place_of_a_page_leaves_the_page(loadstone: Command, tmp_path: Path) -> None:
    """`compare --html a.har b.har`: the report's name was forgotten."""
    page = tmp_path / "a.har"
    page.write_bytes((EXAMPLES / "shop.har").read_bytes())
    result = loadstone("compare", "--html", str(page), str(EXAMPLES / "shop.har"))
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert page.read_bytes() == (EXAMPLES / "shop.har").read_bytes()


@pytest.mark.parametrize(
    "words",
    [
        ["load", "{page}", "--json", "--waterfall"],
        ["load", "{page}"],
        ["load", "{page}", "--network", "10mbit,20ms,trace={trace}", "--json"],
        ["load", "--scenario", "{scenario}", "--json"],
        ["page", "{page}", "--json"],
        ["page", "{page}"],
        ["page", "--survey", "{page}", "{other}"],
        ["page", "--survey", "{page}", "{other}", "--json"],
        ["compare", "{page}", "{other}", "--network", "cable", "--json"],
        ["compare", "{page}", "--network", "10mbit,20ms,trace={trace}", "--html", "{out}/report.html"],
        [
            "compare",
            "{page}",
            "--assert",
            "plt(h2) > 0",
            "--junit",
            "{out}/j.xml",
            "--markdown",
            "{out}/m.md",
        ],
        ["load", "{page}", "--packets", "{out}/packets.csv", "--pcap", "{out}/load.pcapng"],
        ["sweep", "{matrix}", "-o", "{out}/store", "--json"],
    ],
)
def test_what_is_written_names_no_folder_of_this_machine(
    loadstone: Command, tmp_path: Path, words: list[str]
) -> None:
    home = tmp_path / "home-of-alice"
    home.mkdir()
    out = tmp_path / "out"
    out.mkdir()
    given = {name: home / name for name in ("page", "other", "scenario", "matrix", "trace")}
    for name in ("page", "other"):
        given[name].write_bytes((EXAMPLES / "shop.har").read_bytes())
    given["trace"].write_text("".join(f"{ms}\n" for ms in range(1, 2000)))
    objects = [{"url": "https://a.test/", "bytes": 1000}]
    given["scenario"].write_text(json.dumps({"page": {"objects": objects}}))
    given["matrix"].write_text(
        f'runs = 1\ncommon.network = "10mbit,20ms,trace={given["trace"]}"\n'
        f'factors.page = ["{given["page"]}", "{given["other"]}"]\nfactors.iw = [3, 10]\n'
    )
    before = {path: path.read_bytes() for path in given.values()}
    result = loadstone(*[word.format(out=out, **given) for word in words])
    assert result.code == 0, result.err
    written = [path.read_bytes() for path in out.rglob("*") if path.is_file()]
    shown = result.out.replace(str(out), "").encode()
    assert not [text for text in (shown, *written) if b"home-of-alice" in text]
    assert before == {path: path.read_bytes() for path in given.values()}


@pytest.mark.parametrize("option", ["--access-log", "--save-ca"])
def test_what_a_server_writes_goes_into_no_file_of_another_kind(
    loadstone: Command, tmp_path: Path, option: str
) -> None:
    mine = tmp_path / "mine.har"
    mine.write_bytes((EXAMPLES / "shop.har").read_bytes())
    result = loadstone("serve", "--patterns", "--listen", "127.0.0.1:0", option, mine)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert mine.read_bytes() == (EXAMPLES / "shop.har").read_bytes()
