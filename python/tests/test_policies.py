"""Policies: what servers and authors may change, by settings and by functions of one's own."""

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import loadstone as ls
from conftest import ROOT
from loadstone.files import InputError

EXAMPLES = sorted((ROOT / "examples" / "policies").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_what_its_policy_is_worth(example: Path) -> None:
    """Each is short, runs as its first lines say, and changes what it says and nothing else."""
    text = example.read_text()
    assert len([line for line in text.splitlines() if line.strip()]) <= 25
    command = re.search(r"^    python (\S+) (\S+)$", text, re.MULTILINE)
    assert command is not None and ROOT / command[1] == example
    words = [sys.executable, str(example), command[2]]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    before, after = (int(ms.replace(",", "")) for ms in re.findall(r"([\d,]+) ms", done.stdout))
    assert after < before
    page = ls.Page.read(command[2])
    made = page.under(runpy.run_path(str(example))[example.stem])
    assert made.summary()["objects"] == page.summary()["objects"]
    assert made.summary()["bytes"] == page.summary()["bytes"]


def test_a_policy_that_changes_nothing_changes_no_byte() -> None:
    page = ls.Page.read("example:shop")
    same = page.under(lambda document: document)
    assert (same.json, same.notes, same.protocols) == (page.json, page.notes, page.protocols)


def test_a_policy_that_breaks_a_rule_is_named() -> None:
    def without_url(page: dict[str, Any]) -> dict[str, Any]:
        del page["objects"][3]["url"]
        return page

    with pytest.raises(InputError, match=r"example:shop under without_url: .*objects\[3\].*url"):
        ls.Page.read("example:shop").under(without_url)


def _ms(page: str, protocol: str, **settings: Any) -> float:
    loaded = ls.load(page, network="10/1mbit,100ms", protocol=protocol, exact=True, **settings)
    return loaded.median_plt_ms or 0.0


def test_a_film_gains_by_pushes_alone_and_an_interface_by_streams() -> None:
    """`cablelabs` 6: fragments one after another have no gain to expect, a remote user interface has."""
    assert _ms("example:video", "spdy/3.1") == pytest.approx(_ms("example:video", "http/1.1"), rel=0.05)
    pushed = _ms("example:video", "spdy/3.1", push="listed")
    # Eleven requests less; what is left is the link at its rate, 12 fragments of 4 Mbit.
    assert 4_800 < pushed < _ms("example:video", "spdy/3.1") - 1_000
    assert _ms("example:remote-ui", "spdy/3.1") < 0.75 * _ms("example:remote-ui", "http/1.1")
