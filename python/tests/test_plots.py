"""Plots of a store of runs: what they show, without colour too, and the same bytes each time."""

import hashlib
import math
import os
import re
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

import conditions
from loadstone.analysis import plots, tree
from loadstone.analysis.plots import canvas, distribution, heat, tree_diagram, trends
from loadstone.analysis.plots.canvas import Plot
from loadstone.analysis.question import Level, Question
from loadstone.files import InputError

ASKED = conditions.question(
    {
        "page": ["news", "shop", "mail", "maps", "shelf", "forum"],
        "loss": ["0%", "0.5%", "1%"],
        "rtt": [20, 100, 200],
        "protocol": ["http/1.1", "h2", "spdy/3"],
    }
)


def law(condition: dict[str, Any], challenger: Level) -> float:
    """Say that round trips help, loss hurts, and one page goes the other way."""
    gain = 1 + condition["rtt"] / 400 - {"0%": 0, "0.5%": 0.1, "1%": 0.5}[condition["loss"]]
    gain = 1 / gain if condition["page"] == "shelf" else gain
    return gain * (1.02 if challenger == "h2" else 1.0)


@pytest.fixture(scope="module")
def drawn() -> list[Plot]:
    gains = conditions.gains(ASKED, law)
    return plots.draw(conditions.runs(ASKED, law), gains, ASKED, tree.grow_all(gains, ASKED))


def texts(plot: Plot) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(plot.svg).iter("text")]


def named(drawn: list[Plot], name: str) -> Plot:
    return next(plot for plot in drawn if plot.name == name)


def test_there_is_a_plot_for_each_question(drawn: list[Plot]) -> None:
    assert [plot.title for plot in drawn] == [
        "By loss and rtt, where is h2 faster than http/1.1?",
        "By loss and rtt, where is spdy/3 faster than http/1.1?",
        "On how many pages is each challenger faster than http/1.1, and by how much?",
        "How does the load time depend on page?",
        "How does the load time depend on loss?",
        "How does the load time depend on rtt?",
        "When is h2 faster than http/1.1?",
        "When is spdy/3 faster than http/1.1?",
        "Which of h2, spdy/3 and http/1.1 is best when?",
    ]
    assert len({plot.name for plot in drawn}) == len(drawn)


def test_the_same_frames_give_the_same_bytes(drawn: list[Plot]) -> None:
    gains = conditions.gains(ASKED, law)
    again = plots.draw(conditions.runs(ASKED, law), gains, ASKED, tree.grow_all(gains, ASKED))
    assert again == drawn


def test_another_process_gives_the_same_bytes(drawn: list[Plot]) -> None:
    code = (
        "import conditions, hashlib, test_plots as t\n"
        "from loadstone.analysis import plots\n"
        "drawn = plots.draw(conditions.runs(t.ASKED, t.law), conditions.gains(t.ASKED, t.law), t.ASKED)\n"
        "print(hashlib.sha256(''.join(plot.svg for plot in drawn).encode()).hexdigest(), end='')\n"
    )
    whole = "".join(plot.svg for plot in drawn if not plot.name.startswith("tree"))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=canvas.__file__.rpartition("/")[0],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "5"},
    )
    assert done.stdout == hashlib.sha256(whole.encode()).hexdigest()


def test_colours_are_those_of_the_style_sheet(drawn: list[Plot]) -> None:
    for plot in drawn:
        assert not re.search(r"#[0-9a-f]{6}\b", re.sub(r'href="#\w+"', "", plot.svg)), plot.name
        used = set(re.findall(r"var\((--[\w-]+)\)", plot.svg))
        defined = set(re.findall(r"(--[\w-]+):", plot.standalone()))
        assert used and used <= defined


def test_marks_of_plots_on_one_page_do_not_share_names(drawn: list[Plot]) -> None:
    ids = [re.findall(r' id="(\w+)"', plot.svg) for plot in drawn]
    every = [one for some in ids for one in some]
    assert len(every) == len(set(every))


def test_nothing_runs_or_is_fetched(drawn: list[Plot]) -> None:
    for plot in drawn:
        assert "style=" not in plot.svg
        assert not re.search(r"<script|<style|<image|https?://(?!www\.w3\.org)", plot.svg)


def test_lines_differ_in_marks_and_dashes_not_in_colour_alone() -> None:
    strokes = [canvas.stroke(at) for at in range(42)]
    assert len({(stroke.marker, stroke.dashes) for stroke in strokes}) == 42
    assert len({stroke.marker for stroke in strokes[:6]}) == 6
    assert len({stroke.dashes for stroke in strokes[:6]}) == 6


def test_a_trend_draws_each_level_with_dashes_of_its_own(drawn: list[Plot]) -> None:
    plot = named(drawn, "trend-loss")
    lines = [
        path for path in ElementTree.fromstring(plot.svg).iter("path") if path.get("stroke-width") == "1.8"
    ]
    looks = {(path.get("stroke"), path.get("stroke-dasharray")) for path in lines}
    assert len(looks) == len({dashes for _, dashes in looks}) == 3
    assert {"http/1.1", "h2", "spdy/3"} <= set(texts(plot))


def test_a_trend_says_where_the_others_stay(drawn: list[Plot]) -> None:
    # Of page in the matrix's order, of numbers by size: the middle one.
    assert named(drawn, "trend-loss").caption == (
        "At page mail, rtt 100. Above: the median load time and the middle 80 % of the runs. "
        "Below: the gain and its 95 % interval; above 1 is faster."
    )
    around = Question(ASKED.factors, "protocol", "http/1.1", around={"rtt": 20, "page": "forum"})
    chosen = trends.draw(conditions.runs(ASKED, law), conditions.gains(ASKED, law), around)
    assert named(chosen, "trend-loss").caption.startswith("At page forum, rtt 20.")


def test_a_hole_in_the_matrix_moves_a_trend_to_the_nearest_row() -> None:
    runs = conditions.runs(ASKED, law).filter(~((pl.col("page") == "mail") & (pl.col("rtt") == 100)))
    moved = named(trends.draw(runs, conditions.gains(ASKED, law), ASKED), "trend-loss")
    # Another rtt is half its scale away, another page the whole of it.
    assert moved.caption.startswith(
        "At page mail, rtt 20. The matrix has no such row; the nearest has rtt 20 instead of 100."
    )


def test_levels_that_are_nowhere_varied_alone_have_no_trend() -> None:
    asked = conditions.question({"loss": ["0%", "1%"], "iw": [10, 20], "protocol": ["http/1.1", "h2"]})
    linked = (pl.col("loss") == "0%") == (pl.col("iw") == 10)
    runs = conditions.runs(asked, lambda *_: 1.2).filter(linked)
    assert trends.draw(runs, conditions.gains(asked, lambda *_: 1.2).filter(linked), asked) == []


def test_loads_that_were_not_completed_are_left_out_of_trends() -> None:
    runs = conditions.runs(ASKED, law)
    failed = runs.with_columns(
        completed=pl.col("protocol") != "h2",
        plt_ms=pl.when(pl.col("protocol") == "h2").then(None).otherwise(pl.col("plt_ms")),
    )
    plot = named(
        trends.draw(failed, conditions.gains(ASKED, law).filter(pl.col("protocol") != "h2"), ASKED),
        "trend-rtt",
    )
    assert "spdy/3" in texts(plot)
    assert "h2" not in texts(plot)


def test_numbers_stand_where_they_belong_on_a_trend() -> None:
    factor = trends.Factor("rtt", trends.Kind.NUMBER, ((0,), (10,), (20,), (100,)))
    assert trends.Scale.of(factor) == trends.Scale([0.0, pytest.approx(0.3), pytest.approx(0.6), 3.0])
    # Over more than a decade, and without 0, by powers of ten.
    decades = trends.Factor("size", trends.Kind.NUMBER, (("1KB",), ("10KB",), ("1MB",)))
    assert trends.Scale.of(decades) == trends.Scale([0.0, pytest.approx(2 / 3), 2.0], is_log=True)
    names = trends.Factor("page", trends.Kind.NAME, (("b",), ("a",)))
    assert trends.Scale.of(names).places == [0.0, 1.0]
    # What stands too near to another has no name.
    assert trends._spacing(["0", "10", "20", "100"], factor, trends.Scale.of(factor), 100.0)[0] == [0, 3]


def test_a_distribution_says_on_how_many_pages(drawn: list[Plot]) -> None:
    plot = named(drawn, "distribution")
    # Of six pages all but one gain.
    assert "h2, above 1: 83%" in texts(plot)
    assert plot.caption.startswith(
        "Above 1, by however little and whatever chance has to do with it: h2 on 83% of 6, spdy/3"
    )
    assert plot.caption.endswith("The gain of a page is the geometric mean over loss and rtt.")


def test_of_few_pages_the_distribution_is_over_conditions() -> None:
    asked = conditions.question({"page": ["a", "b"], "rtt": [1, 2, 3, 4], "protocol": ["http/1.1", "h2"]})
    gains = conditions.gains(asked, lambda condition, _: 2.0 if condition["rtt"] > 1 else 0.5)
    (plot,) = distribution.draw(gains, asked)
    assert plot.title == "Under how many conditions is h2 faster than http/1.1, and by how much?"
    assert plot.caption.startswith(
        "Above 1, by however little and whatever chance has to do with it: h2 on 75% of 8."
    )


def test_few_networks_have_curves_of_their_own() -> None:
    asked = conditions.question(
        {"page": [f"page {at}" for at in range(5)], "network": ["dsl", "lte"], "protocol": ["http/1.1", "h2"]}
    )
    gains = conditions.gains(asked, lambda condition, _: 2.0 if condition["network"] == "dsl" else 0.5)
    (plot,) = distribution.draw(gains, asked)
    assert {"h2, dsl, above 1: 100%", "h2, lte, above 1: 0%"} <= set(texts(plot))


def test_one_condition_is_no_distribution() -> None:
    asked = conditions.question({"protocol": ["http/1.1", "h2"]})
    assert distribution.draw(conditions.gains(asked, lambda *_: 2.0), asked) == []


def test_a_map_has_number_and_mark_in_each_field() -> None:
    asked = conditions.question({"loss": ["0%", "1%"], "rtt": [20, 200, 300], "protocol": ["http/1.1", "h2"]})
    gain = {
        ("0%", 20): 1.5,
        ("0%", 200): 1.01,
        ("0%", 300): 0.99,
        ("1%", 20): 0.7,
        ("1%", 200): 1.0,
        ("1%", 300): 1.3,
    }
    (plot,) = heat.draw(conditions.gains(asked, lambda at, _: gain[at["loss"], at["rtt"]]), asked)
    fields = [text for text in ElementTree.fromstring(plot.svg).iter("text") if "." in (text.text or "")]
    fields.sort(key=lambda text: (round(float(text.get("y", "")), -1), float(text.get("x", ""))))
    assert [text.text for text in fields] == ["▲ 1.50", "▼ 0.70", "~ 1.01", "~ 1.00", "~ 0.99", "▲ 1.30"]
    assert plot.title == "By rtt and loss, where is h2 faster than http/1.1?"


def test_what_is_clear_without_intervals() -> None:
    asked = conditions.question({"loss": ["0%", "1%"], "rtt": [20, 200], "protocol": ["http/1.1", "h2"]})
    gain = {("0%", 20): 1.01, ("0%", 200): 0.99, ("1%", 20): 1.12, ("1%", 200): 1.11}
    frame = conditions.gains(asked, lambda at, _: gain[at["loss"], at["rtt"]], width=None)
    # Where chance has no part any difference is one.
    (exact,) = heat.draw(frame, asked)
    assert {"▲ 1.01", "▼ 0.99", "▲ 1.12", "▲ 1.11"} <= set(texts(exact))
    # Of a few runs there is no interval; then the bars of the rules decide: 1 / 0.9 is 1.111.
    (few,) = heat.draw(frame.with_columns(is_random=True), asked)
    assert {"~ 1.01", "~ 0.99", "▲ 1.12", "~ 1.11"} <= set(texts(few))
    assert few.caption.endswith("nothing is clear, and marks say what is beyond 10 %.")


def test_a_field_of_many_conditions_is_their_geometric_mean() -> None:
    asked = conditions.question({"a": [1, 2], "b": [1, 2], "c": [1, 2, 3, 4], "protocol": ["http/1.1", "h2"]})
    gains = conditions.gains(asked, lambda at, _: at["a"] * at["b"] * (2.0 if at["c"] > 1 else 0.5))
    (plot,) = heat.draw(gains, asked, by=("a", "b"))
    # The fourth root of 2^3 / 2 is the root of 2. Three of four are no more than three quarters.
    assert f"~ {math.sqrt(2):.2f}" in texts(plot)
    assert "▲ 5.66" in texts(plot)
    (by_c,) = heat.draw(gains, asked, by=("c", "a"))
    assert by_c.title == "By c and a, where is h2 faster than http/1.1?"
    with pytest.raises(InputError, match="d: is no factor of a condition: give two of a, b, c"):
        heat.draw(gains, asked, by=("a", "d"))


def test_the_factors_of_a_map_are_those_that_explain_most() -> None:
    asked = conditions.question(
        {"little": [1, 2, 3], "much": [1, 2, 3], "most": [1, 2, 3], "protocol": ["http/1.1", "h2"]}
    )
    gains = conditions.gains(asked, lambda at, _: at["most"] ** 2 * at["much"] * at["little"] ** 0.1)
    (plot,) = heat.draw(gains, asked)
    assert plot.title.startswith("By much and most, ")


def test_what_is_explained_is_a_share_of_the_variance() -> None:
    from loadstone.analysis.features import factors

    asked = conditions.question({"a": [1, 2], "b": [1, 2], "protocol": ["http/1.1", "h2"]})
    # ln gain is 3 ln 2 for a and ln 2 for b: variances as 9 to 1.
    frame = conditions.gains(asked, lambda at, _: 8.0 ** at["a"] * 2.0 ** at["b"])
    a, b = factors(frame, asked)
    assert heat.explained(frame, a) == pytest.approx(0.9)
    assert heat.explained(frame, b) == pytest.approx(0.1)
    level = conditions.gains(asked, lambda *_: 1.0)
    assert heat.explained(level, a) == 0.0


def test_holes_in_a_map_are_empty_and_said() -> None:
    asked = conditions.question({"loss": ["0%", "1%"], "rtt": [20, 200], "protocol": ["http/1.1", "h2"]})
    frame = conditions.gains(asked, lambda at, _: 1.0 + at["rtt"] / 100).head(3)
    (plot,) = heat.draw(frame, asked)
    assert len([text for text in texts(plot) if re.search(r"\d\.\d\d$", text)]) == 3
    assert "Empty fields have no conditions." in plot.caption


def test_a_drawn_tree_has_the_words_of_its_rules(drawn: list[Plot]) -> None:
    grown = tree.grow(conditions.gains(ASKED, law), ASKED, "h2")
    words = texts(tree_diagram.draw(grown))
    for rule in grown.rules:
        assert f"{rule.likelihood:.0%} of {rule.support}, gain {rule.gain:.2f}" in words
    assert "loss below 1%" in words
    assert {"h2", "http/1.1", "equal"} <= set(words)


def test_a_plot_stands_alone_in_a_notebook(drawn: list[Plot]) -> None:
    alone = drawn[0]._repr_svg_()
    root = ElementTree.fromstring(alone)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in alone
    assert float(root.get("width", "0")) >= canvas.WIDTH


def test_text_from_a_matrix_is_text_in_a_plot() -> None:
    nasty = "<b>$x^2$ & \x1b[31m</b>"
    asked = conditions.question(
        {nasty: ["1%", "2%", "3%"], "rtt": [1, 2, 3, 4, 5], "v": ["base", nasty]}, "v", "base"
    )
    gains = conditions.gains(asked, lambda at, _: 1.5 if at[nasty] == "1%" else 0.7)
    for plot in plots.draw(conditions.runs(asked, lambda *_: 1.1), gains, asked, [tree.grow(gains, asked)]):
        root = ElementTree.fromstring(plot.svg)
        assert not list(root.iter("b"))
        assert "\x1b" not in plot.svg


def test_names_at_the_ends_of_lines_keep_apart() -> None:
    assert canvas.apart([5.0, 5.0, 5.0], 15.0, 0.0, 100.0) == [5.0, 20.0, 35.0]
    assert canvas.apart([99.0, 98.0, 10.0], 15.0, 0.0, 100.0) == [100.0, 85.0, 10.0]
    assert canvas.apart([], 15.0, 0.0, 100.0) == []


def test_long_names_are_cut_where_they_can_still_be_told_apart() -> None:
    assert canvas.labels(["news", "shop"]) == ["news", "shop"]
    long = [f"https://site-{at}.example/a/long/path/to/it" for at in range(3)]
    assert canvas.labels(long) == [f"...://site-{at}.example..." for at in range(3)]
    alike = [f"{at}{'x' * 60}{at}{'y' * 60}{at}" for at in range(3)]
    assert len(set(canvas.labels(alike))) == 3
    inside = [f"{first}{'x' * 40}{middle}{'y' * 40}{first}" for first in "ab" for middle in "cd"]
    assert len(set(canvas.labels(inside))) == 4
