"""The Python API gives what the command line prints."""

import doctest
import json
import subprocess
import sys
from pathlib import Path

import pytest

import loadstone as ls
from conftest import Command
from loadstone import api, pages
from loadstone.files import InputError


@pytest.mark.parametrize("module", [api, pages])
def test_the_examples_of_docstrings_are_true(module: object) -> None:
    ran = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert ran.attempted > 0 and ran.failed == 0


def test_load_is_the_verb_load(loadstone: Command) -> None:
    said = loadstone("load", "example:shop", "--network", "dsl-lossy", "--iw", "3", "--json").document
    loaded = ls.load("example:shop", network="dsl-lossy", iw=3)
    assert json.loads(json.dumps(loaded.document())) == said
    assert (
        len(loaded.frame("pandas")) == 21
        and loaded.frame("polars")["plt_ms"].median() == loaded.median_plt_ms
    )
    columns = loaded.waterfall("pyarrow").column_names
    assert columns[:3] == ["name", "kind", "bytes"] and "last_byte_ms" in columns


def test_compare_is_the_verb_compare(loadstone: Command) -> None:
    said = loadstone("compare", "example:shop", "example:news", "--network", "3g", "--json").document
    compared = ls.compare([ls.Page.read("example:shop"), "example:news"], networks=["3g"])
    assert json.loads(json.dumps(compared.document())) == said
    frame = compared.frame("polars")
    assert frame.height == 4 and frame["is_best"].sum() == sum(
        network.best is not None for result in compared.results for network in result.networks
    )


def test_analyze_is_the_verb_analyze(loadstone: Command, tmp_path: Path) -> None:
    matrix = tmp_path / "m.toml"
    matrix.write_text(
        '[factors]\nprotocol = ["http/1.1", "h2"]\nrtt = [20, 100]\n'
        '[common]\npage = "example:shop"\nnetwork = "10mbit,{rtt}ms"\n[analysis]\ncompare = "protocol"\n'
    )
    store = ls.sweep(matrix, tmp_path / "store")
    assert isinstance(store, ls.Store)
    said = loadstone("analyze", str(tmp_path / "store"), "--where", "rtt == 20", "--json").document
    analysis = ls.analyze(tmp_path / "store", where="rtt == 20")
    assert json.loads(json.dumps(analysis.document())) == said
    assert len(analysis.frame("pandas")) == 1


def test_what_cannot_be_used_is_said() -> None:
    with pytest.raises(InputError, match="example:nonesuch: there is no such example: give example:news, "):
        ls.Page.read("example:nonesuch")
    with pytest.raises(InputError, match="--cc: 'vegas' is unknown"):
        ls.load("example:shop", cc="vegas")  # type: ignore[typeddict-item]
    with pytest.raises(InputError, match="frame: 'excel' is unknown"):
        ls.load("example:shop").frame("excel")  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="nonesuch"):
        ls.nonesuch  # noqa: B018


def test_a_misspelled_setting_is_no_silence() -> None:
    with pytest.raises(TypeError, match="protocl"):
        ls.load("example:shop", protocl="h2")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"compare.. has no argument 'protocol'"):
        ls.compare("example:shop", protocol="h2")


def test_importing_takes_little() -> None:
    heavy = (
        "import sys, loadstone; "
        "print([name for name in ('click', 'polars', 'numpy', 'rich') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_whatif_is_the_verb_whatif(loadstone: Command) -> None:
    options = ("--network", "3g", "--runs", "3")
    said = loadstone("whatif", "example:shop", *options, "--json").document
    found = ls.whatif("example:shop", network="3g", runs=3)
    assert json.loads(json.dumps(found.document())) == said
    assert len(found.frame("polars")) == len(found.savings) == len(said["savings"])
    assert str(found) == loadstone("whatif", "example:shop", *options).out.rstrip("\n")
