"""The report as a reader sees it, in Chromium: what is shown, what is fetched, what the keys do."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import reports
from conftest import EXAMPLES, Command
from loadstone import account, text
from loadstone.html.waterfalls import CRITICAL
from reports import Report

AUDIT = (Path(__file__).parent / "audit.js").read_text()
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
NETWORKS = ["dsl", "dsl-lossy"]

Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Open a report; at the end nothing but the report may have been asked for, and nothing gone wrong."""
    contexts, wrongs = [], []

    def watch(page: Any, path: Path) -> None:
        own = path.as_uri()
        page.on(
            "request", lambda request: None if _is_local(request.url, own) else wrongs.append(request.url)
        )
        page.on("console", lambda said: wrongs.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: wrongs.append(str(error)))

    def open_report(report: Report, viewport: dict[str, int] = DESKTOP, **options: Any) -> Any:
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        watch(page, report.path)
        page.goto(report.path.as_uri())
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert wrongs == []


def _is_local(url: str, own: str) -> bool:
    return url.split("#")[0] == own or url.startswith(("data:", "blob:"))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return reports.write(tmp_path_factory.mktemp("shop"), [str(EXAMPLES / "shop.har")], NETWORKS)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("hostile")
    return reports.write(folder, [reports.hostile_page(folder)], ["dsl-lossy"], runs=6)


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Report:
    names = [str(EXAMPLES / "news.page.json"), "synthetic:A"]
    return reports.write(tmp_path_factory.mktemp("several"), names, ["cable", "50mbit,10ms,loss=2%"])


def test_every_waterfall_has_a_row_per_object_with_its_numbers(opened: Open, shop: Report) -> None:
    page = opened(shop)
    for block, network in zip(page.query_selector_all(".waterfall"), shop.results[0].networks, strict=True):
        for at, variant in enumerate(network.variants):
            block.query_selector(f'input[value="{at}"]').check(force=True)
            columns = variant.middle_run.waterfall()
            rows = block.eval_on_selector_all(
                ".panel:not([hidden]) tbody tr",
                "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))",
            )
            assert len(rows) == len(columns["name"])
            expected = zip(
                *(columns[name] for name in ("name", "kind", "bytes", "connection", "last_byte_ms")),
                strict=True,
            )
            for row, (name, kind, size, connection, last) in zip(rows, expected, strict=True):
                assert row[0].removeprefix(f"{CRITICAL} ")[:8] == name.split("://")[1][:8]
                assert row[1:4] == [kind, text.size(size), str(connection)]
                # The columns have microseconds, so the page may round the other way.
                assert row[4] in {text.ms(last - 0.0005), text.ms(last + 0.0005)}


def test_bars_are_to_scale(opened: Open, shop: Report) -> None:
    page = opened(shop)
    variant = shop.results[0].networks[0].variants[0]
    columns = variant.middle_run.waterfall()
    page.locator(".waterfall").first.locator('input[value="0"]').check(force=True)
    places = page.locator(".waterfall").first.evaluate(
        """block => [...block.querySelectorAll(".panel:not([hidden]) tbody tr")].map(row => {
            const all = row.cells[5].querySelector("svg").getBoundingClientRect();
            return [...row.querySelectorAll("rect.get")].map(bar => {
                const at = bar.getBoundingClientRect();
                return [(at.left - all.left) / all.width, (at.right - all.left) / all.width];
            })[0];
        })"""
    )
    longest = max(columns["last_byte_ms"])
    end = longest / max(right for _, right in places)
    for (left, right), first, last in zip(
        places, columns["first_byte_ms"], columns["last_byte_ms"], strict=True
    ):
        assert left == pytest.approx(first / end, abs=0.005)
        assert right == pytest.approx(last / end, abs=0.005)


def test_the_numbers_are_the_document_s(opened: Open, shop: Report) -> None:
    page = opened(shop)
    assert json.loads(page.locator("#document").text_content()) == shop.document
    networks = shop.document["pages"][0]["networks"]
    assert page.locator(".network").count() == page.locator(".winners li").count() == len(networks)
    for at, network in enumerate(networks):
        shown = page.locator(".network").nth(at)
        rows = shown.locator(".results tbody tr")
        for row, variant in zip(rows.all(), network["variants"], strict=True):
            cells = [cell.strip() for cell in row.locator("th, td").all_inner_texts()]
            gain = "baseline" if variant["gain"] is None else f"{variant['gain']:.2f}"
            assert cells[1:3] == [text.ms(variant["median_plt_ms"]), gain]
            assert ("\N{BLACK STAR}" in cells[0]) == (variant["name"] == network["best"])
            if network["random"] and variant["gain"] is not None:
                assert cells[3] == f"{variant['gain_low']:.2f} - {variant['gain_high']:.2f}"
        assert network["reason"] in shown.inner_text()
        assert network["reason"] in page.locator(".winners li").nth(at).inner_text()
        shown.locator("details.figures summary").click()
        for place, variant in enumerate(network["variants"]):
            column = shown.locator(f".account tbody td:nth-child({place + 2})").all_inner_texts()
            parts = [*variant["account"].values(), variant["median_plt_ms"]]
            assert column == [f"{ms:,.1f}" for ms in parts]


def test_every_run_and_every_part_is_a_mark_with_its_numbers(opened: Open, shop: Report) -> None:
    page = opened(shop)
    for at, network in enumerate(shop.document["pages"][0]["networks"]):
        figures = page.locator(".network").nth(at).locator("figure")
        for form in ("wide", "narrow"):
            says = "[...svg.querySelectorAll('[data-tip]')].map(mark => mark.dataset.tip)"
            spread, accounts = (figures.nth(k).locator(f".{form}").evaluate(f"svg => {says}") for k in (0, 1))
            for variant in network["variants"]:
                for run in variant["runs"]:
                    assert f"{variant['name']}, seed {run['seed']}\n{text.ms(run['plt_ms'])}" in spread
                for part, ms in variant["account"].items():
                    said = f"{variant['name']}\n{account.PARTS[part].label}: {text.ms(ms)}\n"
                    assert any(tip.startswith(said) for tip in accounts) == (ms > 0)


def test_the_script_draws_what_stands_in_the_page(opened: Open, shop: Report) -> None:
    page = opened(shop)
    drawn = page.evaluate(
        """() => [...document.querySelectorAll(".waterfall")].map(block => {
            const [panel] = block.querySelectorAll(".panel:not([hidden])");
            const clean = () => {
                const copy = panel.querySelector("table").cloneNode(true);
                for (const element of copy.querySelectorAll("rect, tr")) {
                    for (const name of ["tabindex", "aria-label", "role"]) element.removeAttribute(name);
                }
                return copy.outerHTML;
            };
            const before = clean();
            panel.querySelector("table").remove();
            block.querySelector("input:checked").dispatchEvent(new Event("change", { bubbles: true }));
            return [before, clean()];
        })"""
    )
    for before, after in drawn:
        assert len(before) > 1000
        assert after == before


VIEWS = [
    pytest.param(viewport, scheme, id=f"{viewport['width']}-{scheme}")
    for viewport in (DESKTOP, PHONE)
    for scheme in ("light", "dark")
]


@pytest.mark.parametrize(("viewport", "scheme"), VIEWS)
@pytest.mark.parametrize("which", ["shop", "hostile", "several"])
def test_nothing_overlaps_is_cut_off_or_faint(
    opened: Open, request: pytest.FixtureRequest, which: str, viewport: dict[str, int], scheme: str
) -> None:
    page = opened(request.getfixturevalue(which), viewport, color_scheme=scheme)
    for closed in page.locator("details.figures").all():
        closed.evaluate("details => details.open = true")
    found = page.evaluate(AUDIT)
    assert found["pieces"] > 300
    assert found["complaints"] == []


@pytest.mark.parametrize("width", [320, 600, 801, 1000, 1920])
def test_other_widths_are_no_worse(opened: Open, shop: Report, width: int) -> None:
    page = opened(shop, {"width": width, "height": 900})
    assert page.evaluate(AUDIT)["complaints"] == []


def test_paper_shows_all_that_is_open(opened: Open, shop: Report) -> None:
    page = opened(shop, {"width": 720, "height": 1000}, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(AUDIT)["complaints"] == []
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(21, 25, 30)"
    assert page.locator(".chart.wide").first.is_visible()
    assert page.locator(".account").first.is_visible()
    assert page.locator(".choice").first.is_hidden()
    # A pattern the browser draws itself would be printed as a picture: megabytes.
    assert len(page.pdf(format="A4")) < 2_000_000


def tab_to(page: Any, selector: str, most: int = 60) -> Any:
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return page.locator(":focus")
    raise AssertionError(f"Tab does not come to {selector}")


def test_the_keyboard_reaches_everything(opened: Open, shop: Report) -> None:
    page = opened(shop)
    network = shop.document["pages"][0]["networks"][0]
    tip = page.locator("#tip")

    dot = tab_to(page, ".chart.wide [data-tip]")
    assert tip.inner_text() == dot.get_attribute("data-tip")
    page.keyboard.press("ArrowDown")
    assert tip.inner_text().startswith(network["variants"][1]["name"])
    page.keyboard.press("Escape")
    assert tip.is_hidden()

    first = tab_to(page, ".chart.wide [data-tip]").get_attribute("data-tip")
    assert tip.inner_text() == first
    page.keyboard.press("ArrowRight")
    assert tip.inner_text() == page.locator(":focus").get_attribute("data-tip") != first

    tab_to(page, ".choice input")
    page.keyboard.press("ArrowLeft")
    chosen = int(page.locator(":focus").get_attribute("value"))
    panel = page.locator(f'.waterfall >> nth=0 >> .panel[data-variant="{chosen}"]')
    assert panel.is_visible()
    assert page.locator(".waterfall").first.locator(".panel:visible").count() == 1

    tab_to(page, ".ribbon [data-tip]", most=1)
    assert " ms to " in tip.inner_text()
    tab_to(page, ".fall tbody tr", most=1)
    for key, row in [("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", 41), ("Home", 0)]:
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.sectionRowIndex") == row
        columns = shop.results[0].networks[0].variants[chosen].middle_run.waterfall()
        said = tip.inner_text()
        assert columns["name"][row] in said
        for mark, words in [("sent_ms", "request sent"), ("last_byte_ms", "last byte")]:
            assert f"{words}: {text.ms(columns[mark][row])}" in said
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    # One stop per waterfall, however many rows: Tab goes on to the next network.
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.closest('tbody')")


def test_hovering_says_the_numbers_and_leaving_hides_them(opened: Open, shop: Report) -> None:
    page = opened(shop)
    tip = page.locator("#tip")
    page.locator(".chart.wide [data-tip]").nth(2).hover(force=True)
    assert " ms" in tip.inner_text()
    page.locator("h1").hover()
    assert tip.is_hidden()
    row = page.locator(".fall tbody tr:visible").nth(3)
    row.hover()
    assert "last byte: " in tip.inner_text()
    inside = tip.bounding_box()
    assert inside["x"] >= 0 and inside["x"] + inside["width"] <= DESKTOP["width"]


def test_a_hostile_page_is_only_shown(opened: Open, hostile: Report) -> None:
    page = opened(hostile)
    for at in range(len(hostile.results[0].networks[0].variants)):
        page.locator(f'.choice input[value="{at}"]').check(force=True)
        assert page.locator(".panel:visible tbody tr").count() == 300
        for row in range(9):
            page.locator(".panel:visible tbody tr").nth(row).focus()
            tip = page.locator("#tip").bounding_box()
            assert tip["height"] < DESKTOP["height"] * 0.6
    assert page.evaluate("typeof steal") == "undefined"
    assert page.locator("img, iframe, object, embed, [onmouseover], [onerror], b").count() == 0
    assert page.locator("script").count() == 3
    shown = page.locator(".panel:visible tbody").inner_text()
    for expected in ("</script>", "<!--<script>", "&lt;b&gt;&amp;", "\u05e9\u05dc\u05d5\u05dd"):
        assert expected in shown
    assert "\u202e" not in page.content()


def test_without_script_the_winner_and_the_baseline_are_there(opened: Open, shop: Report) -> None:
    page = opened(shop, java_script_enabled=False)
    assert page.locator(".choice").first.is_hidden()
    for at, network in enumerate(shop.results[0].networks):
        panels = page.locator(".waterfall").nth(at).locator(".panel")
        assert panels.first.locator("summary").inner_text() == network.fastest.name
        assert panels.first.locator("tbody tr").first.is_visible()
        assert panels.locator("summary").all_inner_texts()[-1] in (network.fastest.name, "http/1.1 iw=3")


def test_a_downloaded_scenario_repeats_the_load(
    opened: Open, shop: Report, loadstone: Command, tmp_path: Path
) -> None:
    page = opened(shop, accept_downloads=True)
    page.select_option("select[name=network]", "0-1")
    page.select_option("select[name=variant]", "1")
    with page.expect_download() as download:
        page.click("[data-download=scenario]")
    assert download.value.suggested_filename.endswith(".scenario.json")
    download.value.save_as(tmp_path / "one.json")
    repeated = loadstone("load", "--scenario", tmp_path / "one.json", "--runs", "7", "--json").document
    variant = shop.document["pages"][0]["networks"][1]["variants"][1]
    assert repeated["median_plt_ms"] == variant["median_plt_ms"]
    assert repeated["variant"] == variant["variant"]
    with page.expect_download() as download:
        page.click("[data-download=document]")
    download.value.save_as(tmp_path / "document.json")
    assert json.loads((tmp_path / "document.json").read_text()) == shop.document
