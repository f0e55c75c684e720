"""The gate as a CI job meets it: exit codes, and the files that it leaves."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conftest import Command
from loadstone import __version__, experiment
from loadstone.engine import engine

LOSSY = ("--network", "dsl-lossy", "--runs", "6")
WINDOWS = ("--vary", "iw=3,10")
NOT_SLOWER = "plt(h2) <= 1.05 * before(plt(h2))"


@pytest.fixture
def page(tmp_path: Path) -> Callable[..., str]:
    """Write a page whose image has this many bytes."""

    def write(image: int, name: str = "small.page.json") -> str:
        objects = [
            {"url": "https://a.test/", "bytes": 12_800},
            {"url": "https://a.test/a.png", "bytes": image},
        ]
        path = tmp_path / name
        path.write_text(json.dumps({"objects": objects}))
        return str(path)

    return write


def kept(loadstone: Command, path: Path, *arguments: str) -> str:
    """Keep the document of a comparison."""
    path.write_text(loadstone("compare", *arguments, "--json").out)
    return str(path)


def no_run(*_: object) -> None:
    raise AssertionError("nothing may run before everything is known to be right")


def test_what_holds_ends_with_0_behind_the_table(loadstone: Command, small: str) -> None:
    alone = loadstone("compare", small, "--network", "dsl")
    result = loadstone(
        "compare", small, "--network", "dsl", "--assert", "plt(h2) < 60000", "--assert", "gain(best) >= 1"
    )
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(alone.out)
    assert result.out.removeprefix(alone.out).splitlines() == [
        "",
        "2 assertions: all hold (2 checks).",
        "holds   plt(h2) < 60000",
        "holds   gain(best) >= 1",
    ]


def test_what_fails_ends_with_1_and_says_where_it_fails(loadstone: Command, small: str) -> None:
    networks = ("--network", "dsl", "--network", "cable")
    document = loadstone("compare", small, *networks, "--json").document
    on_dsl, on_cable = (
        network["variants"][0]["median_plt_ms"] for network in document["pages"][0]["networks"]
    )
    assert on_cable < on_dsl
    limit = round(on_dsl) - 1
    result = loadstone("compare", small, *networks, "--assert", f"plt(http/1.1) <= {limit}")
    assert result.code == 1
    assert result.err == "loadstone: 1 assertion: 1 of 2 checks failed\n"
    assert "median PLT" in result.out
    assert f"\n1 assertion: 1 of 2 checks failed.\nFAILED  plt(http/1.1) <= {limit}\n" in result.out
    (line,) = [line for line in result.out.splitlines() if line.startswith("  ") and f"> {limit} (by" in line]
    assert line.startswith(f"  {Path(small).name} on dsl: plt(http/1.1) = ")


def test_an_unchanged_page_is_exactly_what_it_was(loadstone: Command, tmp_path: Path, small: str) -> None:
    before = kept(loadstone, tmp_path / "before.json", small, *LOSSY, "--threads", "1")
    asserted = [f"plt('{name}') <= before(plt('{name}'))" for name in ["http/1.1", "h2", "best"]]
    options = [word for one in asserted for word in ("--assert", one)]
    for threads in ("1", "2", "5"):
        result = loadstone(
            "compare", small, *LOSSY, "--threads", threads, "--against", before, *options, "--json"
        )
        assert result.code == 0
        for of in result.document["assertions"]:
            now, then = of["checks"][0]["cases"][0]["figures"].values()
            assert now == then


def test_what_was_before_is_shown_beside_what_is_now(
    loadstone: Command, tmp_path: Path, page: Callable[..., str]
) -> None:
    before = kept(loadstone, tmp_path / "before.json", page(10_000), "--network", "dsl")
    compared = ("compare", page(200_000), "--network", "dsl", "--against", before)
    result = loadstone(*compared, "--json")
    assert result.code == 0
    kept_h1, kept_h2 = json.loads(Path(before).read_text())["pages"][0]["networks"][0]["variants"]
    h1, h2 = result.document["before"]
    assert (h1["variant"], h1["before_ms"]) == ("http/1.1", kept_h1["median_plt_ms"])
    assert (h2["network"], h2["before_ms"]) == ("dsl", kept_h2["median_plt_ms"])
    assert h2["now_ms"] > h2["before_ms"] and h2["gain_low"] <= h2["gain"] <= h2["gain_high"] < 1
    table = loadstone(*compared).out.split("\n\n")[-1].splitlines()
    assert table[0].split() == ["page", "network", "variant", "before", "now", "gain", "95", "%", "interval"]
    assert len(table) == 3 and table[2].split()[:3] == ["small.page.json", "dsl", "h2"]


def test_a_page_that_grew_turns_red(loadstone: Command, tmp_path: Path, page: Callable[..., str]) -> None:
    networks = ("--network", "dsl", "--network", "3g")
    before = kept(loadstone, tmp_path / "before.json", page(10_000), *networks)
    same = loadstone("compare", page(10_000), *networks, "--against", before, "--assert", NOT_SLOWER)
    assert same.code == 0
    grown = loadstone("compare", page(200_000), *networks, "--against", before, "--assert", NOT_SLOWER)
    assert grown.code == 1
    assert "1 assertion: 2 of 2 checks failed" in grown.err
    for network in ("dsl", "3g"):
        assert f"  small.page.json on {network}: plt(h2) = " in grown.out
        assert "> 1.05 * before(plt(h2)) = " in grown.out
    renamed = page(10_000, "other.page.json")
    assert loadstone("compare", renamed, *networks, "--against", before, "--assert", NOT_SLOWER).code == 0


def test_the_document_has_the_assertions(loadstone: Command, small: str) -> None:
    result = loadstone(
        "compare",
        small,
        *LOSSY,
        *WINDOWS,
        "--json",
        "--assert",
        "plt(h2) < 1",
        "--assert",
        "connections(h2) > 0",
    )
    assert (result.code, result.err) == (1, "loadstone: 2 assertions: 1 of 2 checks failed\n")
    failed, held = result.document["assertions"]
    assert (failed["assertion"], failed["holds"]) == ("plt(h2) < 1", False)
    (check,) = failed["checks"]
    assert (check["page"], check["network"], check["holds"]) == (Path(small).name, "dsl-lossy", False)
    variants = {one["name"]: one for one in result.document["pages"][0]["networks"][0]["variants"]}
    for case, name in zip(check["cases"], ("h2 iw=3", "h2 iw=10"), strict=True):
        assert case["figures"] == {f"plt({name})": variants[name]["median_plt_ms"]}
        assert case["holds"] is False and f"plt({name}) = " in case["failure"]
    assert held["holds"] and held["checks"][0]["cases"][0]["failure"] is None
    assert "assertions" not in loadstone("compare", small, *LOSSY, "--json").document


def test_to_name_the_engine_loads_nothing_heavy() -> None:
    code = (
        "import sys; from loadstone.engine import engine; engine()\n"
        "print(sorted({'numpy', 'polars', 'pyarrow', 'scipy'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


# --- files ---


def test_junit_has_a_test_for_each_assertion_page_and_network(
    loadstone: Command, tmp_path: Path, small: str
) -> None:
    target = tmp_path / "gate.xml"
    networks = ("--network", "dsl", "--network", "cable")
    asserted = ("--assert", "plt(h2) < 1", "--assert", "plt(best) <= plt(baseline)")
    arguments = ("compare", small, "synthetic:A", *networks, *WINDOWS, *asserted)
    result = loadstone(*arguments, "--junit", target)
    root = ElementTree.parse(target).getroot()
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "8", "4")
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in root] == [
        (Path(small).name, "4", "2"),
        ("synthetic:A", "4", "2"),
    ]
    cases = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert sorted(set(cases)) == sorted(cases)
    assert (f"{Path(small).name} on cable", "plt(h2) < 1") in cases and len(cases) == 8
    for case in root.iter("testcase"):
        figures = {one.get("name"): float(one.get("value") or "") for one in case.iter("property")}
        failures = case.findall("failure")
        if case.get("name") == "plt(h2) < 1":
            assert list(figures) == ["plt(h2 iw=3)", "plt(h2 iw=10)"] and min(figures.values()) > 1
            assert len(failures) == 1 and (failures[0].text or "").count(" >= 1 (by ") == 2
        else:
            assert len(figures) >= 1 and failures == []
    assert result.code == 1
    first = target.read_bytes()
    loadstone(*arguments, "--junit", target, "--threads", "1")
    assert target.read_bytes() == first


def test_markdown_says_first_what_failed(loadstone: Command, tmp_path: Path, small: str) -> None:
    target = tmp_path / "gate.md"
    asserted = ("--assert", "plt('http/1.1') < 1", "--assert", "plt(best) > 1")
    loadstone("compare", small, "--network", "dsl", *asserted, "--markdown", target)
    summary, figures = target.read_text().split("<details>")
    head, empty, _, ruler, row, *_ = summary.splitlines()
    assert (head, empty) == ("### Loadstone: 2 assertions: 1 of 2 checks failed", "")
    assert ruler == "| --- | --- | --- | --- |"
    assert row.startswith(f"| `{Path(small).name}` | `dsl` | `plt('http/1.1') < 1` | `plt(http/1.1) = ")
    assert summary.count("| `") == 4 and "best" not in summary
    assert figures.count("**failed** |") == 1 and figures.count(" holds |") == 1
    assert " ms` |" in figures and figures.endswith("</details>\n")


def test_a_page_s_name_is_no_markup(loadstone: Command, tmp_path: Path, page: Callable[..., str]) -> None:
    name = page(1, "<b>`x`|\x01\u202e[y](z)&.page.json")
    xml, md = tmp_path / "gate.xml", tmp_path / "gate.md"
    asserted = ("--assert", "plt(best) < 1 or '\u00e9|`' == 'b'", "--junit", xml, "--markdown", md)
    assert loadstone("compare", name, "--network", "dsl", *asserted).code == 1
    suite = ElementTree.parse(xml).getroot()[0]
    assert (suite.get("name") or "").endswith("<b>`x`|\ufffd\ufffd[y](z)&.page.json")
    summary = md.read_text()
    assert "<b>'x'\\|\ufffd\ufffd[y](z)&.page.json`" in summary
    # Whatever stands in cells stands in code.
    rows = [line for line in summary.splitlines() if line.startswith("| `")]
    for row in rows:
        assert row.count("`") % 2 == 0
        outside = "".join(row.replace("\\|", "").split("`")[::2])
        assert set(outside.replace("**failed**", "").replace("holds", "")) <= set("| ")


def test_what_is_asserted_is_no_part_of_the_command_that_repeats_it(
    loadstone: Command, tmp_path: Path, small: str
) -> None:
    target = tmp_path / "report.html"
    options = (
        "--assert",
        "plt(best) < 1",
        "--junit",
        tmp_path / "gate.xml",
        "--markdown",
        tmp_path / "gate.md",
    )
    assert loadstone("compare", small, "--network", "dsl", "--html", target, *options).code == 1
    assert f">loadstone compare {Path(small).name} --network dsl</code>" in target.read_text()


# --- what is refused ---

BAD_GATES: dict[str, tuple[list[str], list[str]]] = {
    "an assertion": (["--assert", "plt(h3) < 1"], ["--assert", "'h3'", "take one of http/1.1, h2"]),
    "the second assertion": (["--assert", "plt(h2) < 1", "--assert", "plt(h2)"], ["not true or false"]),
    "no baseline file": (["--assert", NOT_SLOWER], ["asks what was before", "--against FILE"]),
    "no assertion for JUnit": (["--junit", "{folder}/x.xml"], ["--junit", "--assert"]),
    "no assertion for Markdown": (["--markdown", "{folder}/x.md"], ["--markdown", "--assert"]),
    "no folder": (["--assert", "plt(h2) < 1", "--junit", "{folder}/none/x.xml"], ["none", "make it first"]),
    "a folder": (["--assert", "plt(h2) < 1", "--markdown", "{folder}"], ["directory"]),
    "no file": (["--assert", NOT_SLOWER, "--against", "nowhere.json"], ["nowhere.json", "no such file"]),
    "no document": (["--assert", NOT_SLOWER, "--against", "{page}"], ["no document of 'loadstone compare"]),
    "other networks": (
        ["--assert", NOT_SLOWER, "--against", "{before}", "--network", "cable"],
        ["was loaded on dsl", "is now on dsl, cable"],
    ),
    "one file for two": (
        ["--assert", "plt(h2) < 1", "--junit", "{folder}/x", "--markdown", "{folder}/../{folder.name}/x"],
        ["--markdown: ", "is the file of --junit as well: give each its own"],
    ),
    "the report's file": (
        ["--assert", "plt(h2) < 1", "--html", "{folder}/x", "--markdown", "{folder}/x"],
        ["--markdown: ", "is the file of --html as well"],
    ),
    "the file of before": (
        ["--assert", NOT_SLOWER, "--against", "{before}", "--junit", "{before}"],
        ["--junit: ", "is the file of --against as well"],
    ),
    "another page": (["synthetic:A", "--assert", NOT_SLOWER, "--against", "{before}"], ["synthetic:A"]),
}


@pytest.mark.parametrize("kind", BAD_GATES)
def test_a_bad_gate_is_refused_before_anything_runs(
    loadstone: Command, tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    before = kept(loadstone, tmp_path / "before.json", small, "--network", "dsl")
    monkeypatch.setattr(experiment, "run_many", no_run)
    options, expected = BAD_GATES[kind]
    given = [option.format(before=before, folder=tmp_path, page=small) for option in options]
    result = loadstone("compare", small, "--network", "dsl", *given)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    for part in expected:
        assert part in result.err


OTHERWISE: dict[str, tuple[list[str], str]] = {
    "more runs": (
        ["--runs", "7"],
        "had 6 seeds from 1 on and has 7 seeds from 1 on: give the same --runs and --seed",
    ),
    "other seeds": (["--seed", "5"], "had 6 seeds from 1 on and has 6 seeds from 5 on"),
    "another metric": (["--metric", "lcp"], "the metric was onload and is lcp: give the same --metric"),
    "no spread": (["--exact"], "the spread was otherwise (network was 1 and is 0, in percent)"),
    "a setting": (["--tls", "1.2"], 'http/1.1 was set otherwise (tls was "1.3" and is "1.2")'),
}


@pytest.mark.parametrize("kind", OTHERWISE)
def test_what_is_otherwise_than_before_is_refused_before_anything_runs(
    loadstone: Command, tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    before = kept(loadstone, tmp_path / "before.json", small, *LOSSY)
    monkeypatch.setattr(experiment, "run_many", no_run)
    options, expected = OTHERWISE[kind]
    result = loadstone("compare", small, *LOSSY, *options, "--against", before, "--assert", NOT_SLOWER)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith(f"loadstone: {before}: ") and expected in result.err


def test_a_preset_that_means_another_network_now_is_refused_before_anything_runs(
    loadstone: Command, tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tmp_path / "before.json"
    document = loadstone("compare", small, "--network", "dsl", "--json").document
    (network,) = document["pages"][0]["networks"]
    now, network["network"] = network["network"], "1mbit,1ms"
    before.write_text(json.dumps(document))
    monkeypatch.setattr(experiment, "run_many", no_run)
    result = loadstone("compare", small, "--network", "dsl", "--against", before, "--assert", NOT_SLOWER)
    assert (result.code, result.out) == (2, "")
    assert f"on dsl: the network was 1mbit,1ms and is {now}: write it again" in result.err


def test_figures_of_another_engine_are_refused_though_the_version_is_the_same(
    loadstone: Command, tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tmp_path / "before.json"
    document = loadstone("compare", small, "--network", "dsl", "--json").document
    assert document["engine"] == engine() and engine().startswith(f"{__version__}+")
    before.write_text(json.dumps({**document, "engine": f"{__version__}+0123456789ab"}))
    monkeypatch.setattr(experiment, "run_many", no_run)
    result = loadstone("compare", small, "--network", "dsl", "--against", before, "--assert", NOT_SLOWER)
    assert (result.code, result.out) == (2, "")
    assert f"written by loadstone {__version__}+0123456789ab, and figures of {engine()} may" in result.err


@pytest.mark.usefixtures("odd_seeds_given_up")
def test_loads_that_were_given_up_turn_it_red(loadstone: Command, tmp_path: Path, small: str) -> None:
    target = tmp_path / "gate.xml"
    result = loadstone("compare", small, *LOSSY, "--assert", "plt(h2) < 60000", "--junit", target)
    assert result.code == 1
    assert "dsl-lossy: 3 of 6 loads of h2 did not complete, so there is no plt(h2)" in result.out
    assert ElementTree.parse(target).getroot().get("failures") == "1"


def test_a_full_disk_leaves_the_table_and_the_old_file(
    loadstone: Command, tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "gate.xml"
    target.write_text(old := '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="loadstone"/>')

    def full(path: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    result = loadstone("compare", small, "--network", "dsl", "--assert", "plt(h2) < 1", "--junit", target)
    assert (result.code, target.read_text()) == (2, old)
    assert "no space left" in result.err and "FAILED  plt(h2) < 1" in result.out
