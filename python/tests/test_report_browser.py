"""The report as a reader sees it, in Chromium: what is shown, what is fetched, what the keys do."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import reports
from conftest import EXAMPLES, Command
from loadstone import account, text
from reports import Report

AUDIT = (Path(__file__).parent / "audit.js").read_text()
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
NETWORKS = ["dsl", "dsl-lossy"]

CRITICAL = "\N{BLACK DIAMOND}"

Open = Callable[..., Any]


def show(page: Any, at: int, variant: int | None = None) -> Any:
    """Choose a network's tab, open its waterfall, choose the variant in it; give the waterfall."""
    page.locator("[role=tab]").nth(at).click()
    fold = page.locator(".fold").nth(at)
    if not fold.evaluate("fold => fold.open"):
        fold.locator("summary").click()
    block = fold.locator(".waterfall")
    block.locator("tbody").wait_for()
    if variant is not None:
        block.locator("select[name=variant]").select_option(str(variant))
    return block


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
    for place, network in enumerate(shop.results[0].networks):
        for at, variant in enumerate(network.variants):
            columns = variant.middle_run.waterfall()
            rows = (
                show(page, place, at)
                .locator("tbody tr")
                .evaluate_all("rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))")
            )
            assert len(rows) == len(columns["name"])
            expected = zip(
                *(columns[name] for name in ("name", "kind", "bytes", "connection", "last_byte_ms")),
                strict=True,
            )
            for row, (name, kind, size, connection, last) in zip(rows, expected, strict=True):
                assert row[0].removeprefix(f"{CRITICAL} ")[:8] == name.split("://")[1][:8]
                sent_on = "-" if connection is None else str(connection)
                assert row[1:4] == [kind, text.size(size), sent_on]
                # The columns have microseconds, so the page may round the other way.
                ends = {"-"} if last is None else {text.ms(last - 0.0005), text.ms(last + 0.0005)}
                assert row[4] in ends


def test_bars_are_to_scale(opened: Open, shop: Report) -> None:
    page = opened(shop)
    variant = shop.results[0].networks[0].variants[0]
    columns = variant.middle_run.waterfall()
    places = show(page, 0, 0).evaluate(
        """block => [...block.querySelectorAll("tbody tr")].map(row => {
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
        page.locator("[role=tab]").nth(at).click()
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
        assert network["verdict"] in page.locator(".winners li").nth(at).inner_text()
        shown.locator("details.figures summary").first.click()
        for place, variant in enumerate(network["variants"]):
            column = shown.locator(f".account tbody td:nth-child({place + 2})").all_inner_texts()
            parts = [*variant["account"].values(), variant["median_plt_ms"]]
            assert column == [f"{ms:,.1f}" for ms in parts]


def test_every_run_and_every_part_is_a_mark_with_its_numbers(opened: Open, shop: Report) -> None:
    page = opened(shop)
    for at, network in enumerate(shop.document["pages"][0]["networks"]):
        tips = page.locator(".network").nth(at).locator(".chart [data-tip]")
        said = tips.evaluate_all("marks => marks.map(mark => mark.dataset.tip)")
        for variant in network["variants"]:
            for run in variant["runs"]:
                assert f"{variant['name']}, seed {run['seed']}\n{text.ms(run['plt_ms'])}" in said
            for part, ms in variant["account"].items():
                begin = f"{variant['name']}\n{account.PARTS[part].label}: {text.ms(ms)}\n"
                assert any(tip.startswith(begin) for tip in said) == (ms > 0)


def test_bars_are_the_spans_between_marks(opened: Open, shop: Report) -> None:
    page = opened(shop)
    block = show(page, 0, 0)
    columns = shop.results[0].networks[0].variants[0].middle_run.waterfall()
    kinds = block.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells[5].querySelectorAll('rect')].map(bar => bar.classList[0]))"
    )
    marks = (columns[f"{mark}_ms"] for mark in ("found", "sent", "arrived", "answered"))
    for bars, found, sent, arrived, answered in zip(kinds, *marks, strict=True):
        # A request, the answer on its way, its bytes; a wait before it, the server's work, if there were any.
        wait, think = (["wait"] if sent - found >= 0.001 else []), (["think"] if answered > arrived else [])
        assert bars == [*wait, "ask", *think, "ask", "get"]


def test_one_connection_is_drawn_over_time(opened: Open, shop: Report) -> None:
    page = opened(shop)
    drawn = page.locator(".lines").first
    labels = (
        drawn.locator(".who").all_inner_texts()
        if drawn.is_visible()
        else drawn.locator(".who").all_text_contents()
    )
    assert labels == ["Congestion window", "Round trip", "Queue"]
    page.locator(".network details", has_text="One connection").first.locator("summary").click()
    heights = drawn.locator(".line").evaluate_all(
        "lines => lines.map(line => line.getBoundingClientRect().height)"
    )
    assert min(heights) > 50
    said = page.locator(".network").first.inner_text()
    run = shop.results[0].networks[0].fastest.middle_run
    assert f"seed {run.seed}: the connection that brought most" in said


def test_one_network_is_shown_at_a_time_and_a_link_chooses_it(opened: Open, shop: Report) -> None:
    page = opened(shop)
    assert [network.is_visible() for network in page.locator(".network").all()] == [True, False]
    page.locator(".winners a").nth(1).click()
    assert [network.is_visible() for network in page.locator(".network").all()] == [False, True]
    page.locator("[role=tab]").nth(1).focus()
    page.keyboard.press("ArrowRight")
    assert [network.is_visible() for network in page.locator(".network").all()] == [True, False]
    assert page.locator(":focus").get_attribute("aria-selected") == "true"


def test_a_waterfall_can_be_filtered(opened: Open, shop: Report) -> None:
    page = opened(shop)
    block = show(page, 0, 0)
    columns = shop.results[0].networks[0].variants[0].middle_run.waterfall()
    rows = block.locator("tbody tr:visible")
    block.locator("select[name=kind]").select_option("image")
    assert rows.count() == columns["kind"].count("image") > 0
    block.locator("select[name=kind]").select_option("")
    host = block.locator("select[name=host] option").nth(1).inner_text()
    block.locator("select[name=host]").select_option(host)
    assert rows.count() == sum(f"//{host}/" in name for name in columns["name"]) < len(columns["name"])
    block.locator("select[name=host]").select_option("")
    block.locator("select[name=which]").select_option("critical")
    waited = set(shop.results[0].networks[0].variants[0].middle_run.path()["name"])
    assert rows.count() == len(waited & set(columns["name"]))
    assert all(name.startswith(CRITICAL) for name in rows.locator("th").all_inner_texts())


def test_the_first_screen_says_what_would_help(opened: Open, shop: Report) -> None:
    page = opened(shop)
    saved = page.locator(".savings tbody tr")
    assert 1 <= saved.count() <= 8
    times = [
        float(cell.split()[0].replace(",", "")) for cell in saved.locator("td:nth-child(2)").all_inner_texts()
    ]
    assert times == sorted(times, reverse=True) and times[-1] > 0
    assert page.locator("h1").inner_text() == "shop.example.test"


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
    for closed in page.locator("details").all():
        closed.evaluate("details => details.open = true")
    page.locator("tbody").first.wait_for()
    found = page.evaluate(AUDIT)
    assert found["pieces"] > 300
    assert found["complaints"] == []


@pytest.mark.parametrize(("viewport", "scheme"), VIEWS)
def test_axe_finds_nothing_serious(opened: Open, shop: Report, viewport: dict[str, int], scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    # Pages may load nothing, not even what checks them.
    page = opened(shop, viewport, color_scheme=scheme, bypass_csp=True)
    show(page, 1, 0)
    for closed in page.locator("details").all():
        closed.evaluate("details => details.open = true")
    found = Axe().run(page).response["violations"]
    assert [(rule["id"], rule["impact"], len(rule["nodes"])) for rule in found] == []


@pytest.mark.parametrize("width", [320, 600, 801, 1000, 1920])
def test_other_widths_are_no_worse(opened: Open, shop: Report, width: int) -> None:
    page = opened(shop, {"width": width, "height": 900})
    assert page.evaluate(AUDIT)["complaints"] == []


def test_paper_shows_all_that_is_open(opened: Open, shop: Report) -> None:
    page = opened(shop, {"width": 720, "height": 1000}, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(AUDIT)["complaints"] == []
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(21, 25, 30)"
    assert all(network.is_visible() for network in page.locator(".network").all())
    assert page.locator(".account").first.is_visible()
    assert page.locator(".filters").first.is_hidden()
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
    network = {"variants": shop.results[0].networks[0].variants}
    tip = page.locator("#tip")

    bar = tab_to(page, ".summary .chart [data-tip]")
    assert tip.inner_text() == bar.get_attribute("data-tip")
    page.keyboard.press("ArrowDown")
    assert tip.inner_text().startswith(shop.document["pages"][0]["networks"][1]["name"])
    page.keyboard.press("Escape")
    assert tip.is_hidden()

    first = tab_to(page, ".network .chart [data-tip]").get_attribute("data-tip")
    assert tip.inner_text() == first
    page.keyboard.press("ArrowRight")
    assert tip.inner_text() == page.locator(":focus").get_attribute("data-tip") != first

    tab_to(page, ".fold > summary")
    page.keyboard.press("Enter")
    tab_to(page, "select[name=variant]", most=1)
    page.keyboard.press("ArrowUp")
    chosen = int(page.locator(":focus").input_value())
    for name in ("which", "host", "kind"):
        tab_to(page, f"select[name={name}]", most=1)
    tab_to(page, ".ribbon [data-tip]", most=1)
    assert " ms to " in tip.inner_text()
    tab_to(page, ".fall tbody tr", most=1)
    for key, row in [("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", 41), ("Home", 0)]:
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.sectionRowIndex") == row
        columns = network["variants"][chosen].middle_run.waterfall()
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
    page.locator(".chart [data-tip]").nth(2).hover(force=True)
    assert " ms" in tip.inner_text()
    page.locator("h1").hover()
    assert tip.is_hidden()
    row = show(page, 0).locator("tbody tr").nth(3)
    row.hover()
    assert "last byte: " in tip.inner_text()
    inside = tip.bounding_box()
    assert inside["x"] >= 0 and inside["x"] + inside["width"] <= DESKTOP["width"]


def test_a_hostile_page_is_only_shown(opened: Open, hostile: Report) -> None:
    page = opened(hostile)
    for at in range(len(hostile.results[0].networks[0].variants)):
        if at == 0:
            page.locator(".fold > summary").click()
        page.locator("select[name=variant]").first.select_option(str(at))
        assert page.locator(".panel tbody tr").count() == 300
        for row in range(9):
            page.locator(".panel tbody tr").nth(row).focus()
            tip = page.locator("#tip").bounding_box()
            assert tip["height"] < DESKTOP["height"] * 0.6
    assert page.evaluate("typeof steal") == "undefined"
    assert page.locator("img, iframe, object, embed, [onmouseover], [onerror], b").count() == 0
    assert page.locator("script").count() == 3
    shown = page.locator(".panel tbody").inner_text()
    for expected in ("</script>", "<!--<script>", "&lt;b&gt;&amp;", "\u05e9\u05dc\u05d5\u05dd"):
        assert expected in shown
    assert "\u202e" not in page.content()


def test_without_script_all_but_the_waterfalls_is_there(opened: Open, shop: Report) -> None:
    page = opened(shop, java_script_enabled=False)
    assert page.locator(".filters").first.is_hidden()
    for at, network in enumerate(shop.results[0].networks):
        shown = page.locator(".network").nth(at)
        assert shown.is_visible()
        longest, *_ = shown.locator(".pieces td").all_inner_texts()
        path = network.fastest.middle_run.path()
        spans = zip(path["from_ms"], path["to_ms"], strict=True)
        assert float(longest.split()[0].replace(",", "")) >= max(end - begin for begin, end in spans) - 0.5
        assert "need JavaScript" in shown.locator("noscript").text_content()


def test_a_downloaded_scenario_repeats_the_load(
    opened: Open, shop: Report, loadstone: Command, tmp_path: Path
) -> None:
    page = opened(shop, accept_downloads=True)
    page.select_option(".scenario select[name=network]", "0-1")
    page.select_option(".scenario select[name=variant]", "1")
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
