"""The report's page without a browser: what stands in it, and when it cannot be written."""

import base64
import hashlib
import itertools
import json
import re
import signal
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reports
from conftest import EXAMPLES, Command
from loadstone import experiment
from loadstone.account import PARTS
from loadstone.analysis.plots import svg
from loadstone.html import headline, palette, strips, waterfalls
from loadstone.html.palette import HATCHES
from loadstone.html.strips import Scale
from reports import Report


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return reports.write(tmp_path_factory.mktemp("shop"), [str(EXAMPLES / "shop.har")], ["dsl", "dsl-lossy"])


class Reader(HTMLParser):
    """Collects what a browser would fetch or obey, and checks that elements nest."""

    VOID = ("meta", "link", "input", "br", "img")

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: list[str] = []
        self.references: list[str] = []
        self.handlers: list[str] = []
        self.stack: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "srcset", "data", "action", "poster", "xlink:href"):
                self.references.append(value or "")
            if name.startswith("on") or name == "style":
                self.handlers.append(f"{tag} {name}")
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.stack.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


def test_the_page_refers_to_nothing_but_itself(shop: Report) -> None:
    reader = Reader(shop.html)
    assert reader.stack == []
    assert len(reader.ids) == len(set(reader.ids))
    assert set(reader.references) <= {f"#{name}" for name in reader.ids} | {"data:,"}
    assert set(re.findall(r"url\(#([\w-]+)\)", shop.html)) <= set(reader.ids)
    assert reader.handlers == []
    assert "@import" not in shop.html and "@font-face" not in shop.html


def test_the_policy_names_the_page_s_own_style_and_script(shop: Report) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', shop.html)[1]
    for tag in ("style", "script"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", shop.html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy


def test_no_placeholder_is_left_and_every_variable_is_defined(shop: Report) -> None:
    assert not re.search(r"#000[0-3][0-9a-f]{2}\b", shop.html)
    used = set(re.findall(r"var\(--([\w-]+)\)", shop.html))
    defined = set(re.findall(r"^ +--([\w-]+):", shop.html, re.MULTILINE))
    assert used <= defined
    names = {part.replace("_", "-") for part in PARTS}
    assert names | {f"on-{name}" for name in names} <= defined


def test_charts_are_drawn_by_percents_and_classes_alone(shop: Report) -> None:
    # One on the first screen, one on each network.
    assert shop.html.count('<ol class="chart">') == 3
    for drawing in re.findall(r'<svg class="(?:parts|runs)">.*?</svg>', shop.html, re.DOTALL):
        assert drawing.count("<rect") > 1
        assert not re.search("fill|font|viewBox|style", drawing)


def test_the_same_comparison_gives_the_same_bytes(shop: Report, tmp_path: Path) -> None:
    again = reports.write(tmp_path, [str(EXAMPLES / "shop.har")], ["dsl", "dsl-lossy"])
    assert again.html == shop.html


def test_what_the_page_embeds_is_the_document(shop: Report) -> None:
    embedded = re.search(r'id="document">(.*?)</script>', shop.html, re.DOTALL)[1]
    assert json.loads(embedded) == shop.document
    assert not re.search("[<>&]", embedded)


def test_a_page_of_300_objects_makes_no_monster(tmp_path: Path) -> None:
    names = [reports.hostile_page(tmp_path)]
    made = reports.write(tmp_path, names, ["cable", "dsl", "dsl-lossy", "3g"], runs=21)
    assert len(made.html.encode()) < 1_000_000
    assert made.html.count("<script") == 3


def test_a_page_of_100_objects_is_small(tmp_path: Path) -> None:
    page = reports.hostile_page(tmp_path, objects=100)
    made = reports.write(tmp_path, [page], ["cable", "wifi", "4g", "slow-4g"], runs=21)
    assert len(made.results[0].networks[0].variants) == 6
    assert len(made.html.encode()) < 600_000


def test_many_runs_become_a_hundred_marks(tmp_path: Path) -> None:
    made = reports.write(tmp_path, ["synthetic:objects=2,size=3KB"], ["dsl-lossy"], strips.MOST_MARKS + 1)
    drawn = re.findall(r'<svg class="runs">.*?</svg>', made.html, re.DOTALL)
    assert [runs.count('class="run"') for runs in drawn] == [100] * len(drawn) != []
    assert all("50.5 % of 201 runs took no more than" in runs for runs in drawn)


# --- the parts ---


@given(st.integers(0, 10**9))
def test_scales_reach_the_end_in_few_round_steps(end: int) -> None:
    scale = Scale.to(end)
    assert 1 <= scale.steps <= 6
    assert end <= scale.end and scale.end - end <= scale.step
    assert str(scale.step).rstrip("0") in {"1", "2", "5"}
    assert len(scale.labels) == len(set(scale.labels)) == scale.steps + 1


@pytest.mark.parametrize(
    ("end", "labels"),
    [
        (747_000, ["0", "200", "400", "600", "800 ms"]),
        (1_900_000, ["0", "0.5", "1", "1.5", "2 s"]),
        (9_160_000, ["0", "2", "4", "6", "8", "10 s"]),
    ],
)
def test_scales_are_labelled_with_a_unit_at_the_end(end: int, labels: list[str]) -> None:
    assert Scale.to(end).labels == labels


@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("https://a.test/", "a.test/"),
        ("https://a.test/small.js?v=1", "a.test/small.js?v=1"),
        (
            "https://a.test/some/where/deep/app.js?version=1234567890",
            "a.test/some/where/deep/app.js?...",
        ),
        (
            "https://assets.a.test/very/long/folder/names/all/the/way/x.png",
            "assets.a.test/very...all/the/way/x.png",
        ),
    ],
)
def test_labels_keep_host_and_file(url: str, label: str) -> None:
    assert waterfalls._label(url) == label


BOXES = st.tuples(st.floats(0, 900), st.floats(0, 100), st.floats(0, 600), st.floats(1, 40))


@given(BOXES, st.sampled_from(list(HATCHES)))
def test_patterns_stay_in_their_box(box: tuple[float, float, float, float], part: str) -> None:
    left, top, width, height = box
    for x1, y1, x2, y2 in HATCHES[part].strokes((left, top, left + width, top + height)):
        assert all(left - 1e-6 <= x <= left + width + 1e-6 for x in (x1, x2))
        assert all(top - 1e-6 <= y <= top + height + 1e-6 for y in (y1, y2))


def test_every_part_has_a_pattern_of_its_own() -> None:
    assert list(HATCHES) == list(PARTS)
    drawn = [tuple(HATCHES[part].strokes((0, 0, 40, 20))) for part in PARTS]
    assert len(set(drawn)) == len(PARTS)
    assert isinstance(HATCHES["server"], palette.Hatch)


def test_a_strip_gives_each_mark_its_text() -> None:
    drawn = strips.runs("<two>", [(1, 100.0), (2, 110.0), (3, 130.0)], Scale.to(200_000), row=1)
    # A box for the middle half, and a mark for each run.
    assert drawn.count("<rect") == 4
    assert (
        '<rect class="run" x="65%" role="img" data-row="1" data-tip="&lt;two&gt;, seed 3\n130 ms">' in drawn
    )
    assert '<rect class="middle" x="52.5%" width="7.5%"' in drawn
    assert strips.runs("one", [(1, 100.0)], Scale.to(200_000), row=0) == ""


@given(st.lists(st.floats(0, 5000), min_size=len(PARTS), max_size=len(PARTS)))
def test_the_bars_of_an_account_follow_one_another_and_end_at_its_sum(times: list[float]) -> None:
    spent = dict(zip(PARTS, times, strict=True))
    scale = Scale.to(strips.us(sum(times)))
    drawn = strips.account("h2", spent, scale, 0)
    bars = [tuple(map(float, bar)) for bar in re.findall(r'x="([\d.]+)%" width="([\d.]+)%"', drawn)]
    assert len(bars) == sum(ms > 0 for ms in times)
    for (left, width), (after, _) in itertools.pairwise(bars):
        assert after <= left + width + 0.02
    if bars and sum(times) > 1:
        assert sum(bars[-1]) == pytest.approx(100 * strips.us(sum(times)) / scale.end, abs=0.2)


def test_what_matplotlib_draws_becomes_part_of_a_page() -> None:
    drawn = b"""<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">
      <metadata/><g id="line2d_1"><path id="x" d="M 1.23456 2 L 3 4" style="stroke: #000003"/></g></svg>"""
    adopted = svg.adopt(drawn, 'a "chart"', "plot")
    assert adopted == (
        '<svg class="chart plot" viewBox="0 0 9 9" role="group" aria-label="a &quot;chart&quot;">'
        '<path id="x" d="M1.23 2L3 4" stroke="var(--line)" /></svg>'
    )


def network(
    name: str, best: str | None, ratio: float = 1.05, *, is_alike: bool = False, is_run: bool = True
) -> Any:
    winner = None if best is None else SimpleNamespace(name=best, gain=SimpleNamespace(ratio=ratio))
    base = SimpleNamespace(name="recorded", median_plt_ms=1000 * ratio)
    fastest = base if is_run else None
    return SimpleNamespace(name=name, best=winner, is_alike=is_alike, fastest=fastest, variants=[base])


def test_the_headline_says_who_is_best_where_by_how_much_and_how_sure_that_is() -> None:
    cable, dsl, slow = network("cable", "h2", 1.02), network("dsl", "h2", 1.071), network("3g", "h1")
    assert headline.verdict([cable, dsl]) == "h2 is best on every network, 2 to 7 % faster than recorded."
    assert headline.verdict([cable]) == "h2 is best on cable, 2 % faster than recorded."
    lossy, near = network("lossy", None), network("lan", None, is_alike=True)
    assert headline.verdict([slow, cable, dsl, lossy]) == (
        "h2 is best on cable and dsl, 2 to 7 % faster than recorded; h1 is best on 3g, 5 % faster than "
        "recorded; there is no clear winner on lossy."
    )
    assert headline.verdict([near]) == "It hardly matters on lan."
    never = network("dsl", None, is_run=False)
    assert headline.verdict([never]) == "No run was completed."
    assert headline.verdict([cable, never]) == "h2 is best on cable, 2 % faster than recorded."


def test_a_page_is_explained_on_the_network_of_the_middle_load_time() -> None:
    networks = [network(f"{ratio}", None, ratio) for ratio in (4.0, 1.0, 3.0, 2.0)]
    assert headline.focus(networks).name == "3.0"
    assert headline.focus([network("never", None, is_run=False)]) is None


# --- the option ---


def test_the_report_comes_beside_the_table(loadstone: Command, small: str, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    arguments = ("compare", small, "--network", "dsl-lossy", "--runs", "6", "--seed", "3")
    alone = loadstone(*arguments)
    result = loadstone(*arguments, "--html", target)
    assert (result.code, result.err, result.out) == (0, "", alone.out)
    html = target.read_text()
    assert f">loadstone compare {Path(small).name} --network dsl-lossy --runs 6 --seed 3</code>" in html
    both = loadstone(*arguments, "--html", target, "--json", "--threads", "1")
    assert json.loads(both.out) == both.document
    assert target.read_text() == html
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "small.page.json"]


def no_run(*_: object) -> None:
    raise AssertionError("nothing may run before the file can be written")


BAD_TARGETS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no folder": (lambda folder: folder / "none" / "report.html", "make it first"),
    "a folder": (lambda folder: folder, "directory"),
    "below a file": (lambda folder: folder / "small.page.json" / "report.html", "make it first"),
    "a device": (lambda folder: Path("/dev/null"), "no ordinary file"),
    "a name that is too long": (lambda folder: folder / ("x" * 300), "too long"),
    "a null character": (lambda folder: folder / "a\0b", "null"),
}


@pytest.mark.parametrize("kind", BAD_TARGETS)
def test_a_bad_target_is_refused_before_anything_runs(
    loadstone: Command, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    make, expected = BAD_TARGETS[kind]
    monkeypatch.setattr(experiment, "run_many", no_run)
    result = loadstone("compare", small, "--html", make(tmp_path))
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert expected in result.err


def test_a_folder_that_is_read_only_is_refused_before_anything_runs(
    loadstone: Command, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Path.open

    def open_file(path: Path, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if "x" in mode:
            raise PermissionError(13, "Permission denied", str(path))
        return plain(path, mode, *rest, **named)

    monkeypatch.setattr(experiment, "run_many", no_run)
    monkeypatch.setattr(Path, "open", open_file)
    result = loadstone("compare", small, "--html", tmp_path / "report.html")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "permission denied" in result.err


def test_what_goes_wrong_later_leaves_the_old_file_and_the_table(
    loadstone: Command, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report.html"
    arguments = ("compare", small, "--network", "dsl", "--html", target)
    assert loadstone("compare", "synthetic:objects=2,size=1KB", *arguments[2:]).code == 0
    old = target.read_text()

    def full(path: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        result = loadstone(*arguments)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "no space left" in result.err and "median PLT" in result.out

    with monkeypatch.context() as patch:
        patch.setattr(experiment, "run_many", lambda *_: signal.raise_signal(signal.SIGINT))
        assert loadstone(*arguments).code == 130
    assert target.read_text() == old
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "small.page.json"]


def test_a_report_of_loads_that_were_given_up(
    loadstone: Command, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_many = experiment.run_many

    class GivenUp:
        def __init__(self, outcome: object) -> None:
            self._outcome = outcome
            self.completed = False

        def __getattr__(self, name: str) -> object:
            return getattr(self._outcome, name)

        def account(self) -> None:
            return None

    monkeypatch.setattr(experiment, "run_many", lambda *args: [GivenUp(run) for run in run_many(*args)])
    target = tmp_path / "report.html"
    assert loadstone("compare", small, "--network", "dsl", "--html", target).code == 0
    html = target.read_text()
    assert "No run was completed" in html and "not completed, given up after" in html
