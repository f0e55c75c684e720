"""What the studies of Chromium compute themselves, without Chromium."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from conftest import ROOT


def study(name: str) -> ModuleType:
    """Load a program of the studies, which are no package."""
    spec = importlib.util.spec_from_file_location(
        f"study_{name}", ROOT / "studies" / "browser" / f"{name}.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [*sys.path])
    return study("others")


def test_pages_of_packages_have_the_files_that_browsers_know(others: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "package"
    for place in ("a.css", "deep/b.js", "readme.unknown", "node_modules/c.js"):
        (source / place).parent.mkdir(parents=True, exist_ok=True)
        (source / place).write_text(place)
    others.copy(source, tmp_path / "site")
    copied = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*.*")}
    assert copied == {"a.css", "deep/b.js"}


def test_a_sheet_of_fonts_names_them_at_their_host(
    others: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    font = tmp_path / "font"
    (font / "files").mkdir(parents=True)
    (font / "files" / "x.woff2").write_bytes(b"font")
    for style in ("400", "700-italic"):
        (font / f"{style}.css").write_text(f"{style}: url(./files/x.woff2)\n")
    asked = []
    monkeypatch.setattr(others, "package", lambda named, _: asked.append(named) or font)
    place = others.fonts("css?family=Open+Sans:400,700i,900", tmp_path / "tree", tmp_path)
    assert asked == [f"@fontsource/open-sans@{others.FONTSOURCE}"]
    url = "url(https://fonts.gstatic.com/s/open-sans/x.woff2)"
    assert (tmp_path / "tree" / place).read_text() == f"400: {url}\n700-italic: {url}\n"
    assert (tmp_path / "tree" / "fonts.gstatic.com/s/open-sans/x.woff2").read_bytes() == b"font"


def test_requests_of_two_loads_are_the_same_but_for_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    again = study("again")
    asked = [
        (1, "https://a.test/?t=1700000000000"),
        (2, "https://a.test/?t=1800000000000"),
        (2, "https://a.test/b"),
    ]
    entries = [{"pageref": f"page_{load}", "request": {"url": url}} for load, url in asked]
    har = json.dumps({"log": {"entries": entries}})
    archive = SimpleNamespace(read=lambda _: SimpleNamespace(extra=lambda _: har))
    monkeypatch.setattr(again, "Archive", archive)
    first, second = again.requested("again.wacz")
    assert first == {"https://a.test/?t=MOMENT"}
    assert first ^ second == {"https://a.test/b"}
