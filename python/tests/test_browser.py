"""Pages loaded by a real browser: how it is talked to, how loads are taken, and Chromium itself on a bed."""

import json
import os
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

import kernel
from conftest import EXAMPLES, need
from loadstone.browser import BrowserError, PageTiming
from loadstone.browser.blocks import Loads, TimedLoad, measure
from loadstone.browser.chromium import words
from loadstone.browser.devtools import Devtools

LOADED = PageTiming("https://a.test/", "h2", 100, 200, 250, 180, 180, [])

# --- the pipe ---


class FakeBrowser:
    """Answers at the other ends of two pipes what a function makes of each call."""

    def __init__(self, answer: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> None:
        self.gets, sends = os.pipe()
        gets, self.sends = os.pipe()
        self.devtools = Devtools(sends, gets)
        self._answer = answer
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        begun = b""
        while piece := os.read(self.gets, 100):
            *calls, begun = (begun + piece).split(b"\0")
            for call in calls:
                for said in self._answer(json.loads(call)):
                    # In two pieces, as it may come.
                    data = json.dumps(said).encode() + b"\0"
                    os.write(self.sends, data[:7])
                    os.write(self.sends, data[7:])

    def close(self) -> None:
        self.devtools.close()
        self._thread.join()


@pytest.fixture
def browser() -> Iterator[Callable[..., Devtools]]:
    made: list[FakeBrowser] = []

    def make(answer: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> Devtools:
        made.append(FakeBrowser(answer))
        return made[-1].devtools

    yield make
    for one in made:
        one.close()


def soon() -> float:
    return monotonic() + 10


def test_a_call_gets_its_own_answer_and_events_wait_for_whom_they_concern(
    browser: Callable[..., Devtools],
) -> None:
    def answer(call: dict[str, Any]) -> list[dict[str, Any]]:
        loaded = {"method": "Page.loaded", "sessionId": "two", "params": {"at": call["id"]}}
        other = {"method": "Page.loaded", "sessionId": "one", "params": {"at": 0}}
        return [other, loaded, {"id": call["id"], "result": {"you": call["params"]}}]

    devtools = browser(answer)
    assert devtools.call("Page.navigate", soon(), "two", url="x") == {"you": {"url": "x"}}
    assert devtools.event("Page.loaded", soon(), "two") == {"at": 1}


def test_a_refusal_is_told_with_its_call(browser: Callable[..., Devtools]) -> None:
    devtools = browser(lambda call: [{"id": call["id"], "error": {"message": "no such thing"}}])
    with pytest.raises(BrowserError, match=r"Page\.fly: no such thing"):
        devtools.call("Page.fly", soon())


def test_a_browser_that_says_nothing_is_not_waited_for(browser: Callable[..., Devtools]) -> None:
    devtools = browser(lambda _: [])
    with pytest.raises(BrowserError, match=r"Page.load: nothing came in time"):
        devtools.call("Page.load", monotonic() + 0.05)


def test_a_browser_that_has_ended_is_told_so() -> None:
    one = FakeBrowser(lambda _: [])
    os.close(one.sends)
    with pytest.raises(BrowserError, match="has ended"):
        one.devtools.event("Page.loaded", soon(), "one")
    one.close()


# --- blocks ---


def loader(times: Iterator[float], paused: Iterator[float] | None = None) -> Callable[[], TimedLoad]:
    def load() -> TimedLoad:
        ms = next(times)
        return TimedLoad(replace(LOADED, onload_ms=ms), next(paused) if paused else 0.0, ms)

    return load


def noisy(median: float, seed: int, variation: float = 0.015) -> Iterator[float]:
    """Give times that vary by 1.5 %, and now and then by more, as a browser's do."""
    chance = random.Random(seed)
    while True:
        yield median * chance.gauss(1, variation) * (1.1 if chance.random() < 0.03 else 1)


def test_each_block_has_each_variant_once_and_the_first_twice() -> None:
    asked: list[str] = []

    def load(name: str) -> Callable[[], TimedLoad]:
        return lambda: asked.append(name) or TimedLoad(LOADED, 0, 100)  # type: ignore[func-returns-value]

    measured = measure({name: load(name) for name in "abc"}, 20, seed=1)
    assert asked[:3] == ["a", "b", "c"], "one of each warms up"
    blocks = [asked[at : at + 4] for at in range(3, len(asked), 4)]
    assert len(blocks) == 20 and all(sorted(block) == ["a", "a", "b", "c"] for block in blocks)
    assert len({tuple(block) for block in blocks}) > 6, "in orders of chance"
    assert [len(one.timings) for one in (*measured.variants, measured.again)] == [20] * 4


def test_what_is_left_out_is_decided_by_pauses_alone() -> None:
    paused = iter([0.0, *[0.0, 1.2, 0.9] * 30])
    times = iter([100.0] * 200)
    measured = measure({"a": loader(times, paused)}, 10, seed=1)
    loads = [measured.variants[0], measured.again]
    assert [len(one.timings) for one in loads] == [10, 10]
    # Of three in a row one stood still for 1.2 % of its time.
    assert sum(one.left_out for one in loads) in (9, 10)


def test_a_machine_that_stands_still_all_the_time_is_told_so() -> None:
    with pytest.raises(BrowserError, match=r"^a( again)?: 5 loads .* stood still"):
        measure({"a": loader(iter([100.0] * 50), iter([50.0] * 50))}, 3, seed=1)


def test_a_load_that_fails_is_done_again_and_counted() -> None:
    fails = iter([False, True, False, False, False, False, False, False])

    def load() -> TimedLoad:
        if next(fails):
            raise BrowserError("no")
        return TimedLoad(LOADED, 0, 100)

    measured = measure({"a": load}, 2, seed=1)
    assert measured.variants[0].failed + measured.again.failed == 1


def test_the_same_is_seldom_taken_for_different_and_five_percent_are_seen() -> None:
    """As many blocks as are usual, with the noise of Chromium on a quiet machine."""
    called = found = 0
    for seed in range(100):
        loads = {"a": loader(noisy(1000, seed)), "b": loader(noisy(950, 1000 + seed))}
        measured = measure(loads, 20, seed)
        floor, gain = measured.floor, measured.gain(measured.variants[1])
        assert floor is not None and gain is not None
        called += floor.is_clear
        found += gain.is_clear and gain.ratio > 1
    assert called <= 10, "5 of 100 are expected; more than 10 come once in a hundred times"
    assert found >= 90


def test_variation_is_the_standard_deviation_over_the_mean() -> None:
    loads = Loads("a", [replace(LOADED, onload_ms=ms) for ms in (90.0, 100.0, 110.0)])
    assert (loads.median_ms, loads.variation) == (100.0, 0.1)


# --- Chromium ---


def test_it_has_a_profile_of_its_own_and_no_services(tmp_path: Path) -> None:
    command = words("chromium", tmp_path, headless=True)
    assert f"--user-data-dir={tmp_path}" in command and "--headless" in command
    assert "--disable-background-networking" in command


@pytest.fixture
def chromium(access: None) -> str:
    need("certutil")
    return need("chromium")


def site(folder: Path) -> None:
    """Write a page with a style sheet that is needed for painting, a script and eight images."""
    images = "".join(f'<img src="{number}.svg">' for number in range(8))
    head = '<link rel="stylesheet" href="a.css"><script src="a.js"></script>'
    (folder / "index.html").write_text(f"<!doctype html><title>a</title>{head}<h1>Hello</h1>{images}")
    (folder / "a.css").write_text("h1 { color: green }\n" + " " * 20_000)
    (folder / "a.js").write_text("document.title = 'b';\n" + " " * 30_000)
    for number in range(8):
        (folder / f"{number}.svg").write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><!--{"x" * 5000}--></svg>'
        )


def test_chromium_loads_a_page_over_the_link_and_trusts_its_certificate(
    chromium: str, tmp_path: Path
) -> None:
    site(tmp_path)
    serve = f"{kernel.LOADSTONE[0]} -m loadstone serve {tmp_path} --listen 0.0.0.0:443"
    server = f'{serve} --cert "$SERVER_CERT" --key "$SERVER_KEY" --access-log {tmp_path}/log'
    network = ["--network", "10mbit,60ms"]
    command = ["bed", *network, "--server-command", server, "--loads", "2", "--json"]
    result = kernel.run(*command, "--", chromium, "https://server/")
    assert result.code == 0, result.err
    document = result.document
    (variant,) = document["variants"]
    assert document["network"] == "10mbit,60ms"
    loads = [*variant["loads"], *document["noise_floor"]["loads"]]
    assert len(loads) == 4
    for load in loads:
        assert (load["protocol"], len(load["resources"])) == ("h2", 10)
        # The name, the handshakes of TCP and TLS, the page, what it needs: five round trips.
        assert load["onload_ms"] > 300
        assert load["first_byte_ms"] < load["first_contentful_paint_ms"]
    # One more if the load before them came that far, and one for each that was taken again.
    again = sum(one["left_out"] + one["failed"] for one in (variant, document["noise_floor"]))
    fetched = (tmp_path / "log").read_text().count('"path":"/a.css"')
    assert 4 <= fetched <= 5 + again, "each load is cold"


def test_chromium_is_told_why_a_page_does_not_load(chromium: str) -> None:
    command = ["bed", str(EXAMPLES / "shop.har"), "--network", "cable", "--loads", "2"]
    result = kernel.run(*command, "--", chromium, "https://nowhere.test/")
    assert result.code == 2 and "net::ERR_NAME_NOT_RESOLVED" in result.err
    assert result.err.count("\n") == 1


def test_only_a_browser_can_be_told_to_load(access: None) -> None:
    result = kernel.run("bed", "--loads", "3", "--network", "cable", "--", "curl", "http://server/")
    assert result.code == 2 and "chromium URL" in result.err


def test_a_page_is_shown_with_a_new_profile_where_there_is_a_display(
    access: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "chromium"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    command = ["bed", "--network", "cable", "--", str(program), "https://server/"]
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    result = kernel.run(*command)
    assert result.code == 2 and "--loads" in result.err and result.err.count("\n") == 1
    monkeypatch.setenv("DISPLAY", ":99")
    said = kernel.run(*command).out.split()
    assert said[-1] == "https://server/" and "--headless" not in said
    assert {"--disable-sync", "--no-first-run"} <= {*said}
    assert any(word.startswith("--user-data-dir=") for word in said)
    assert kernel.run(*command[:-1], "--version", "https://server/").out == "--version https://server/\n"
