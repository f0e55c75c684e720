"""`loadstone analyze` as a user meets it: text, JSON, the folder with the page."""

import csv
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import matrices
from conftest import Command
from loadstone import pages
from loadstone.analysis import analysis_report, findings, gains, sections
from loadstone.analysis.question import Question
from loadstone.cli import sweeps
from loadstone.files import InputError
from loadstone.html.templates import embedded
from loadstone.pages import Page
from matrices import Levels
from test_html import Reader

Made = tuple[pl.DataFrame, Question]
Stored = Callable[[Made], None]

FACTORS = {"page": ("news", "shop"), "loss": (0, 1), "iw": (3, 10), "protocol": ("http/1.1", "h2", "spdy")}


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Stored:
    """Put runs in the place of a store's."""

    def put(made: Made) -> None:
        monkeypatch.setattr(sweeps, "_opened", lambda path: (*made, "complete"))

    return put


@pytest.fixture(scope="module")
def small_matrix() -> Made:
    """Run a small matrix in the simulator: pages by networks by protocols."""

    def scenario(levels: Levels) -> tuple[Page, dict]:
        loss = f",loss={levels['loss']}%" if levels["loss"] else ""
        network = f"5/1mbit,{levels['rtt']}{loss}"
        page = pages.read(f"synthetic:objects={levels['objects']},size=8KB")
        return page, {"network": network, "variant.protocol": levels["protocol"]}

    factors = {"objects": (4, 40), "rtt": ("20ms", "100ms"), "loss": (0, 2), "protocol": ("http/1.1", "h2")}
    return matrices.simulated(factors, "protocol", scenario, seeds=9)


def known(levels: Levels, seed: int) -> float:
    """Let h2 be twice as fast, without loss four times, and spdy exactly as fast as the baseline."""
    gain = {"http/1.1": 1, "spdy": 1, "h2": 2 if levels["loss"] else 4}[levels["protocol"]]
    return (2000 if levels["page"] == "shop" else 1000) * (1 + seed / 100) / gain


def runs_with_losses(losses: dict[int, float]) -> pl.DataFrame:
    """Give runs of two pages in which each initial window has its own loss, as in the study of Yahoo."""
    return matrices.frame([
        {"page": page, "iw": iw, "loss": loss, "cell": f"{page}{iw}", "seed": 1, "completed": True,
         "plt_ms": 1000.0 / iw, "is_random": False}
        for page in "AB"
        for iw, loss in losses.items()
    ])  # fmt: skip


def test_the_text_says_what_was_run_and_what_came_out(loadstone: Command, stored: Stored) -> None:
    stored(matrices.synthetic(FACTORS, "protocol", known, seeds=7))
    shown = loadstone("analyze", "results")
    assert shown.code == 0 and shown.err == ""
    said = " ".join(shown.out.split())
    assert said.startswith("How much faster than http/1.1 is h2 or spdy? 24 cells, 168 runs (complete).")
    assert (
        "h2 is 2.83 times as fast as http/1.1 (95 %: 2.83 - 2.83) in the geometric mean over 8 "
        "conditions: from 2.00 with page news, loss 1, iw 3 to 4.00 with page news, loss 0, iw 3. It is "
        "clearly faster in 8 of 8." in said
    )
    assert "It is exactly as fast in 8 of 8." in said
    assert re.search(r"\ngain of 2 or more +8 of 8 \(100 %\) +0 of 8 \(0 %\)\n", shown.out)
    assert re.search(r"\nloss +100 % +14 % +2.00 \(1\) +4.00 \(0\)\n", shown.out)
    # In the mean over conditions a load takes 1,560 ms, half or a quarter of that with h2.
    assert re.search(r"\nPage load time +1,560.0 +585.0 +\+975.0\n", shown.out)
    assert "   min  geometric         95 %" in shown.out


@pytest.mark.parametrize(
    ("seeds", "spread", "said"),
    [
        (1, 0, "h2 is 2.00 times as fast as http/1.1."),
        (9, 0, "h2 is 2.00 times as fast as http/1.1 (95 %: 2.00 - 2.00)."),
        (9, 900, "h2 is 2.00 times as fast as http/1.1 (95 %: 0.20 - 2.00), which chance alone may explain."),
        (3, 0, "h2 is 2.00 times as fast as http/1.1, which chance alone may explain."),
    ],
)
def test_one_condition_is_said_in_one_sentence(
    loadstone: Command, stored: Stored, seeds: int, spread: int, said: str
) -> None:
    # Four loads of nine are slower with h2: whether the median is, is left to chance.
    def plt_ms(levels: Levels, seed: int) -> float:
        return 100.0 if levels["protocol"] == "http/1.1" else 50.0 + (spread / 2 if seed > 5 else 0)

    stored(matrices.synthetic({"protocol": ("http/1.1", "h2")}, "protocol", plt_ms, seeds))
    out = loadstone("analyze", "results").out
    assert f"\n\n{said}\n\n" in out
    assert re.search(r"\nbest gain +2.00\n", out)


def test_every_heading_is_a_question(small_matrix: Made) -> None:
    for by in (None, "objects,rtt", "rtt", "objects,rtt,loss"):
        found = findings.find(*small_matrix, by)
        shown = [*analysis_report.first(found), *analysis_report.last(found)]
        shown += [section for each in found.each for section in sections.of_challenger(found, each)]
        assert all(section.title.endswith("?") for section in shown)
        assert analysis_report.title(found).endswith("?")
        for section in shown:
            assert len({len(row) for row in section.rows}) == 1


def test_tables_of_two_factors_are_rows_and_columns_and_others_lists(
    loadstone: Command, stored: Stored
) -> None:
    stored(matrices.synthetic(FACTORS, "protocol", known))
    usual = loadstone("analyze", "results").out
    titles = re.findall(r"^How much faster is h2 than http/1.1, by (.*)\?$", usual, re.M)
    assert titles == ["page", "loss", "iw"]
    grid = loadstone("analyze", "results", "--by", "page,loss").out
    assert "page \\ loss               0               1             all\n" in grid
    assert "news         4.00 4.00 4.00  2.00 2.00 2.00  4.00 2.83 2.00\n" in grid
    listed = loadstone("analyze", "results", "--by", "page,loss,iw").out
    assert re.search(r"\nall +all +all +8 +4.00 +3.00 +2.00 +2.83\n", listed)


def test_factors_of_pages_and_of_channels_get_a_table_each() -> None:
    factors = {
        "page": ("A", "B"), "servers": (1, 2), "rate": (1, 10), "rtt": (20, 100), "loss": (0, 1),
        "queue": ("64KB", "1MB"), "tls": ("1.2", "1.3"), "fixed": (7,), "protocol": ("http/1.1", "h2"),
    }  # fmt: skip
    weight = {"rate": 3.0, "rtt": 0.1, "loss": 1.0, "queue": 2.0}

    def plt_ms(levels: Levels, seed: int) -> float:
        faster = 1 + sum(much for name, much in weight.items() if levels[name] == factors[name][1])
        return 1000 / (faster if levels["protocol"] == "h2" else 1)

    (found,) = findings.find(*matrices.synthetic(factors, "protocol", plt_ms)).each
    # Four factors of the channel are too many for a table: the one that has least to do with it goes apart.
    assert [cube.by for cube in found.cubes] == [
        ("page", "servers"),
        ("rate", "loss", "queue"),
        ("tls",),
        ("rtt",),
    ]


def test_a_long_table_by_one_factor_shows_its_ends() -> None:
    factors = {"page": tuple(f"page {at}" for at in range(100)), "protocol": ("http/1.1", "h2")}

    def plt_ms(levels: Levels, seed: int) -> float:
        return 1000.0 if levels["protocol"] == "http/1.1" else 1000 / (1 + int(levels["page"][5:]))

    found = findings.find(*matrices.synthetic(factors, "protocol", plt_ms))
    table = next(each for each in sections.of_challenger(found, found.each[0]) if "by page" in each.title)
    names = [row[0] for row in table.rows[1:]]
    ends = [f"page {at}" for at in range(99, 84, -1)] + [f"page {at}" for at in range(14, -1, -1)]
    assert names == [*ends, "all"]
    assert (
        table.note == "The 15 with the greatest and the 15 with the least geometric mean, of 100; "
        "`-o` writes all to tables.csv."
    )


def test_long_names_are_cut_in_tables_and_whole_in_files(
    loadstone: Command, stored: Stored, tmp_path: Path
) -> None:
    pages = tuple(f"recordings/of/the/last/week/of/{name}/front.har" for name in ("news", "shop"))
    stored(matrices.synthetic({**FACTORS, "page": pages}, "protocol", lambda levels, seed: 100.0))
    out = loadstone("analyze", "results", "--by", "page", "-o", tmp_path).out
    assert "\nrecordings/of/t...shop/front.har" in out and pages[1] not in out
    assert pages[1] in (tmp_path / "gains.csv").read_text()
    assert pages[1] in (tmp_path / "tables.csv").read_text()


def test_the_document_has_every_gain_and_every_table(
    loadstone: Command, stored: Stored, small_matrix: Made
) -> None:
    stored(small_matrix)
    shown = loadstone("analyze", "results", "--json").document
    assert (shown["cells"], shown["runs"], shown["completed"]) == (16, 80, 80)
    assert shown["gains"] == gains.measure(*small_matrix).measured.to_dicts()
    (challenger,) = shown["challengers"]
    ratios = [row["gain"] for row in shown["gains"]]
    assert (challenger["max"], challenger["min"]) == (max(ratios), min(ratios))
    assert challenger["best"]["gain"] == max(ratios)
    assert challenger["mean"] == pytest.approx(sum(ratios) / 8)
    assert challenger["faster"] + challenger["slower"] + challenger["equal"] + challenger["undecided"] == 8
    for table in challenger["tables"]:
        whole = next(row for row in table["rows"] if all(row[name] is None for name in table["by"]))
        assert (whole["conditions"], whole["mean"]) == (8, pytest.approx(challenger["mean"]))
    parts = challenger["accounts"]
    assert sum(parts["baseline_ms"].values()) > 0
    assert {each["factor"] for each in challenger["depends_on"]} == {"objects", "rtt", "loss"}


def test_another_factor_can_be_compared_and_another_baseline(loadstone: Command, stored: Stored) -> None:
    stored(matrices.synthetic(FACTORS, "protocol", known))
    out = loadstone("analyze", "results", "--compare", "loss", "--baseline", "1").out
    assert out.startswith("How much faster than loss 1 is loss 0?")
    assert "from 1.00 with page news, iw 3, protocol http/1.1" in " ".join(out.split())
    out = loadstone("analyze", "results", "--baseline", "h2").out
    assert out.startswith("How much faster than h2 is http/1.1 or spdy?")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--compare", "los"], "--compare: there is no factor 'los': give one of page, loss, iw, protocol"),
        (["--baseline", "h3"], "--baseline: protocol is never 'h3': give one of http/1.1, h2, spdy"),
        (["--by", "loss,what"], "--by: there is no factor 'what': give some of page, loss, iw"),
        (["--by", "loss,loss"], "--by: loss stands there twice: give it once"),
        (
            ["--by", "protocol"],
            "--by: protocol is what is compared: give other factors, or another --compare",
        ),
        (["--where", "loss > 7"], "--where: 'loss > 7' holds for no cell: give what holds for some"),
        (["--where", "los > 0"], "--where: "),
        (
            ["--where", "protocol != 'http/1.1'"],
            "--where: 'protocol != 'http/1.1'' leaves no cell of the baseline, http/1.1: let it stay",
        ),
        (
            ["--where", "protocol == 'http/1.1'"],
            "--where: 'protocol == 'http/1.1'' leaves nothing to hold against http/1.1: let more stay",
        ),
        (
            ["--tree", "--depth", "21"],
            "--depth: 21 is not from 0 to 20: give for instance 4, or leave it out",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    loadstone: Command, stored: Stored, given: list[str], why: str
) -> None:
    stored(matrices.synthetic(FACTORS, "protocol", known))
    shown = loadstone("analyze", "results", *given)
    assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert shown.err.startswith(f"loadstone: {why}")


def test_a_part_of_the_matrix_is_chosen_by_an_expression(loadstone: Command, stored: Stored) -> None:
    stored(matrices.synthetic(FACTORS, "protocol", known))
    shown = loadstone("analyze", "results", "--json", "--where", "loss > 0 and page == 'shop'").document
    assert [(row["page"], row["loss"], row["iw"]) for row in shown["gains"][::2]] == [
        ("shop", 1, 3),
        ("shop", 1, 10),
    ]
    assert shown["state"] == "complete, only where loss > 0 and page == 'shop'"


def test_holes_and_loads_that_did_not_complete_are_said(loadstone: Command, stored: Stored) -> None:
    def failing(levels: Levels, seed: int) -> float | None:
        gives_up = levels["protocol"] == "spdy" and (seed == 2 or levels["loss"] == 1)
        return None if gives_up else known(levels, seed)

    def without(levels: Levels) -> bool:
        return levels["protocol"] == "h2" and levels["iw"] == 10

    stored(matrices.synthetic(FACTORS, "protocol", failing, seeds=7, without=without))
    out = loadstone("analyze", "results").out
    # With spdy all 28 loads with loss, and one of seven in each of the 4 cells without.
    assert "32 loads did not complete: gains are of the others, and count where 90 %" in out
    assert "12 conditions left out, for the reasons below." in out
    assert "Which conditions are left out, and why?" in out
    why = (
        "h2 +it was not run",
        "spdy +less than 90 % of the loads of a side were completed",
        "spdy +no load was",
    )
    assert all(re.search(rf"\n{each}.* 4\n", out) for each in why)
    # A margin is of what there is, and says of how much.
    assert re.search(r"\nall +4 +4.00 +3.00 ", out)


def test_a_matrix_without_any_gain_is_said(loadstone: Command, stored: Stored) -> None:
    stored(matrices.synthetic(FACTORS, "protocol", lambda levels, seed: None))
    shown = loadstone("analyze", "results")
    assert shown.code == 0 and "so there is no gain" in shown.out
    assert loadstone("analyze", "results", "--json").document["challengers"] == []


def test_factors_that_change_with_the_compared_one_are_no_condition() -> None:
    runs = runs_with_losses({1: 1.0, 2: 1.5, 4: 2.0})
    factors = {"page": ("A", "B"), "iw": (1, 2, 4), "loss": (1.0, 1.5, 2.0)}
    question = findings.asked(runs, Question(factors, "page", "A"), "iw", None)
    assert (question.linked, question.others) == (("loss",), ["page"])
    assert gains.measure(runs, question).frame["gain"].to_list() == [2, 4, 2, 4]
    # Windows 1 and 2 with the same loss: then a loss does not say which cell is meant.
    blurred = runs_with_losses({1: 1.0, 2: 1.5, 4: 1.5})
    with pytest.raises(
        InputError, match=r"^--compare: loss has one level in several cells .* of iw, which change"
    ):
        gains.measure(blurred, Question(factors, "loss", 1.0, linked=("iw",)))


def test_a_factor_that_changes_with_another_one_is_refused_by_that_one_s_name() -> None:
    runs = runs_with_losses({1: 1.0, 2: 1.5, 4: 1.5})
    question = Question({"page": ("A", "B"), "iw": (1, 2, 4), "loss": (1.0, 1.5)}, "page", "A")
    with pytest.raises(InputError, match=r"^--compare: loss is never varied while iw stays, .*: compare iw$"):
        findings.asked(runs, question, "loss", None)


def test_long_lists_are_cut_and_say_where_the_rest_is(
    loadstone: Command, stored: Stored, tmp_path: Path
) -> None:
    factors = {
        "page": tuple(range(9)),
        "rtt": tuple(range(9)),
        "loss": (0, 1),
        "protocol": ("http/1.1", "h2"),
    }
    stored(matrices.synthetic(factors, "protocol", lambda levels, seed: 1000.0 + levels["rtt"]))
    out = loadstone("analyze", "results", "--by", "page,rtt,loss", "-o", tmp_path).out
    assert "The first 60 rows of 300, and the last; `-o` writes all to tables.csv." in " ".join(out.split())
    assert len((tmp_path / "tables.csv").read_text().splitlines()) == 301


def test_live_loads_are_said_to_be_live(loadstone: Command, stored: Stored, tmp_path: Path) -> None:
    runs, question = matrices.synthetic(FACTORS, "protocol", known, seeds=7)
    stored((runs, replace(question, live=True)))
    out = " ".join(loadstone("analyze", "results", "-o", tmp_path).out.split())
    assert "Loads went over the kernel of a machine, live: sweeping again gives other figures." in out
    assert "each side by itself, since over a kernel seeds pair nothing" in out
    assert "on any machine" not in (tmp_path / "report.html").read_text()


def test_loads_that_were_completed_less_often_are_said_in_the_headline(
    loadstone: Command, stored: Stored
) -> None:
    def failing(levels: Levels, seed: int) -> float | None:
        gives_up = levels["protocol"] == "h2" and levels["loss"] == 1 and levels["page"] == "news"
        return None if gives_up and seed > 3 else known(levels, seed)

    stored(matrices.synthetic(FACTORS, "protocol", failing, seeds=7))
    said = " ".join(loadstone("analyze", "results").out.split())
    assert "Its loads were completed less often in 2." in said
    assert (
        "2 more conditions are left out, since less than 90 % of the loads of a side were completed." in said
    )
    assert re.search(r"completed less often in 2 of 8 \(25 %\) -", said)


MATRIX = """
title = "Does a page of small objects gain from fewer connections?"
runs = 7
where = "loss == 0 or rate == 2"

[factors]
page = ["synthetic:objects=10,size=4KB", "synthetic:objects=40,size=4KB"]
rate = [2, 20]
loss = [0, 1]
protocol = ["http/1.1", "h2"]

[common]
network = "{rate}mbit,50ms,loss={loss}%"
"""


def test_a_matrix_is_swept_and_analyzed(loadstone: Command, tmp_path: Path) -> None:
    (tmp_path / "matrix.toml").write_text(MATRIX)
    assert loadstone("sweep", tmp_path / "matrix.toml", "-o", tmp_path / "store").code == 0
    shown = loadstone("analyze", tmp_path / "store", "-o", tmp_path / "report")
    assert shown.code == 0
    assert shown.out.startswith(
        "Does a page of small objects gain from fewer connections?\n12 cells, 36 runs (complete)."
    )
    assert "by rate and loss?" in shown.out and "loads did not" not in shown.out
    document = loadstone("analyze", tmp_path / "store", "--json").document
    assert [(row["rate"], row["loss"], row["pairs"]) for row in document["gains"][:3]] == [
        (2, 0, 1),
        (2, 1, 7),
        (20, 0, 1),
    ]
    missing = loadstone("analyze", tmp_path / "nowhere")
    assert missing.code == 2 and "there is no store here" in missing.err


def test_the_page_obeys_its_own_policy_and_fits_a_phone(
    browser: Any, loadstone: Command, stored: Stored, small_matrix: Made, tmp_path: Path
) -> None:
    stored(small_matrix)
    assert loadstone("analyze", "results", "-o", tmp_path / "out").code == 0
    page, said = browser.new_page(viewport={"width": 360, "height": 800}), []
    page.on("console", lambda message: said.append(message.text))
    page.goto((tmp_path / "out" / "report.html").as_uri())
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()


def test_the_folder_has_the_page_and_the_figures(
    loadstone: Command, stored: Stored, small_matrix: Made, tmp_path: Path
) -> None:
    stored(small_matrix)
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        assert loadstone("analyze", "results", "--by", "rtt,loss", "-o", folder).code == 0
    one, two = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert one == two and sorted(one) == ["gains.csv", "report.html", "tables.csv"]
    frame = pl.read_csv(io.BytesIO(one["gains.csv"]))
    assert frame["gain"].to_list() == gains.measure(*small_matrix).frame["gain"].to_list()
    tables = list(csv.DictReader(io.StringIO(one["tables.csv"].decode())))
    assert [(row["objects"], row["rtt"], row["loss"]) for row in tables[:3]] == [
        ("all", "20ms", "0"),
        ("all", "20ms", "2"),
        ("all", "20ms", "all"),
    ]
    html = one["report.html"].decode()
    assert "loadstone analyze results --by rtt,loss" in html
    reader = Reader(html)
    assert (
        reader.stack == []
        and reader.handlers == []
        and {one for one in reader.references if one[0] != "#"} == {"data:,"}
    )
    policy = re.search(r'content="(default-src [^"]+)"', html)[1]
    for sheet in ("report.css", "analysis.css"):
        assert embedded(sheet).hash in policy and embedded(sheet).content in html


def test_the_number_of_threads_changes_nothing(tmp_path: Path) -> None:
    # Enough runs that polars shares them out among its threads.
    code = (
        "import json, matrices\n"
        "from loadstone.analysis import analysis_report, findings\n"
        "factors = {'page': range(60), 'loss': range(40), 'protocol': ('http/1.1', 'h2')}\n"
        "def plt_ms(levels, seed): return 1000 / (7 + (levels['page'] * 41 + levels['loss'] + seed) % 97)\n"
        "made = matrices.synthetic(factors, 'protocol', plt_ms, 9)\n"
        "print(json.dumps(analysis_report.document(findings.find(*made), 'complete')))"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "POLARS_MAX_THREADS": threads},
            cwd=Path(__file__).parent,
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "4")
    ]
    assert said[0] == said[1] and len(said[0]) > 100_000


def test_a_folder_that_cannot_be_written_is_refused_at_once(
    loadstone: Command, stored: Stored, tmp_path: Path
) -> None:
    stored(matrices.synthetic(FACTORS, "protocol", known))
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "no" / "where"):
        shown = loadstone("analyze", "results", "-o", path)
        assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)


def test_what_a_matrix_says_of_itself_is_text_and_no_markup(
    loadstone: Command, stored: Stored, tmp_path: Path
) -> None:
    hostile = "<script>steal()</script>\x1b[2J"
    factors = {hostile: (hostile, "B"), "protocol": ("http/1.1", f"h2{hostile}")}
    runs, question = matrices.synthetic(
        factors, "protocol", lambda levels, seed: 100.0 + len(levels[hostile])
    )
    stored((runs, Question(question.factors, "protocol", "http/1.1", title=f"What{hostile}?")))
    shown = loadstone("analyze", "results", "-o", tmp_path / "out")
    html = (tmp_path / "out" / "report.html").read_text()
    assert "\x1b" not in shown.out + html and "<script" not in html
    assert "What&lt;script&gt;" in html


def test_trees_and_plots_stand_in_the_page(loadstone: Command, stored: Stored, tmp_path: Path) -> None:
    stored(matrices.synthetic(FACTORS, "protocol", known))
    out = loadstone("analyze", "results", "--tree", "-o", tmp_path).out
    html = (tmp_path / "report.html").read_text()
    assert "How does the load time depend on" in html
    trees = loadstone("analyze", "results", "--tree", "--json").document["trees"]
    assert len(trees) == 3, "one for each challenger, one for which is best"
    for tree in trees:
        assert out.count(tree["question"]) == 1 and tree["question"] in html
    assert "trees" not in loadstone("analyze", "results", "--json").document
