import json
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from live import FakeOutcome
from loadstone import cli, experiment
from loadstone.recording import Archive, recorder
from sites import QUICK, Server

# Under nohup, or in the background of a shell, interrupts are ignored here and in all that is started here.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
CHROMIUM = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Result]
Record = Callable[..., Archive]


def leave_out(why: str) -> None:
    """Skip a test for something that is not here; where nothing may be skipped, fail."""
    if os.environ.get("LOADSTONE_NO_SKIP"):
        pytest.fail(why)
    pytest.skip(why)


def need(program: str) -> str:
    """Give where a program is; without it the test is left out."""
    path = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
    if path is None:
        leave_out(f"no {program} here: run 'scripts/setup tests'")
    return path


@pytest.fixture(scope="session")
def access() -> None:
    """Leave a test out where this process may not make namespaces."""
    from kernel import why_not

    if why := why_not():
        leave_out(why)


def verdicts_said(study: str) -> dict[str, int]:
    """Give how many claims that could fail README says have come to each verdict in a study."""
    row = next(
        line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith(f"| [{study}]")
    )
    claims, *verdicts = (int(cell) for cell in row.split("|")[3:8])
    assert sum(verdicts) == claims
    return dict(zip(("confirmed", "contradicted", "undecided", "not testable"), verdicts, strict=True))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        leave_out("no playwright: run 'scripts/setup tests'")
    chromium = need("chromium")
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=[*CHROMIUM, *as_root])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def chromium() -> str:
    return need("chromium")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.ended.set()
        made.shutdown()
        thread.join()


@pytest.fixture
def record(chromium: str, tmp_path: Path) -> Record:
    """Record pages, write the file, and read it."""

    def made(*urls: str, **more: Any) -> Archive:
        order = recorder.Order(urls, **{"patience": QUICK, **more})
        path = tmp_path / "a.wacz"
        with path.open("wb") as file:
            recorder.record(chromium, order).archive.write(file)
        return Archive.read(str(path))

    return made


@pytest.fixture
def loadstone(capfd: pytest.CaptureFixture[str]) -> Command:
    """Run the command in this process: arguments in, exit code and both outputs out."""

    def run(*arguments: str) -> Result:
        with pytest.raises(SystemExit) as stop:
            cli.main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Result(stop.value.code, out, err)

    return run


@pytest.fixture
def odd_seeds_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no load under an odd seed be completed."""
    run_many = experiment.run_many

    def given_up(*arguments: Any) -> list[Any]:
        return [FakeOutcome(run, completed=run.seed % 2 == 0) for run in run_many(*arguments)]

    monkeypatch.setattr(experiment, "run_many", given_up)


@pytest.fixture
def small(tmp_path: Path) -> str:
    """Write a page of five objects on two hosts."""
    objects = [{"url": "https://a.test/", "bytes": 12_800}]
    objects += [{"url": f"https://{host}.test/{n}.png", "bytes": 9_000} for host in "ab" for n in (1, 2)]
    path = tmp_path / "small.page.json"
    path.write_text(json.dumps({"objects": objects}))
    return str(path)
