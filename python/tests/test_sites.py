"""The ten sites can be built, hold together and show what pages of today do."""

import filecmp
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

import pytest

from conftest import ROOT

SITES = ROOT / "sites"
NAMES = [
    *("ads", "chain", "documentation", "fonts", "gallery"),
    *("modules", "news", "shop", "spa", "thirdparties"),
]
TEXTS = {".html", ".css", ".js", ".json", ".svg", ".webmanifest"}
# Whose URLs are new in each load, and who has a service worker.
VOLATILE = {"ads", "news", "shop", "thirdparties"}
WITH_WORKER = {"spa"}

# What is to occur somewhere, as it looks in sources.
SHOWN = {
    "synchronous script": r'<script src="[^"]+"></script>',
    "async script": r"<script[^>]* async",
    "defer script": r"<script[^>]* defer",
    "module": r'<script type="module" src',
    "inline module": r'<script type="module">',
    "static import": r"\bimport \{",
    "dynamic import": r"\bimport\('",
    "import map": r'type="importmap"',
    "script for old browsers": r"<script nomodule",
    "inline script after a sheet": r'<link rel="stylesheet"[^>]*>\n<script>',
    "imported sheet": r"@import ",
    "sheet for print": r'media="print"',
    "sheet for some widths": r'media="\(m',
    "background": r"background: url\(",
    "background in an attribute": r'style="background-image: url\(',
    "image-set": r"image-set\(",
    **{
        f"font-display {value}": rf"font-display: {value}"
        for value in ("block", "swap", "fallback", "optional", "auto")
    },
    "range of a font": r"unicode-range",
    "font by script": r"new FontFace\(",
    "preload of a font": r'rel="preload"[^>]*as="font"',
    "preload of an image": r'rel="preload" as="image"',
    "modulepreload": r'rel="modulepreload"',
    "preconnect": r'rel="preconnect"',
    "prefetch": r'rel="prefetch"',
    "frame": r"<iframe src=",
    "frame by script": r"createElement\('iframe'\)",
    "lazy image": r'<img[^>]* loading="lazy"',
    "lazy frame": r'<iframe[^>]* loading="lazy"',
    "srcset": r"<img[^>]* srcset=",
    "picture": r"<picture>",
    "poster": r" poster=",
    "object": r"<object ",
    "image button": r'type="image"',
    "document.write": r"document\.write\('<script",
    "image by script": r"new Image\(\)\.src",
    "fetch": r"\bfetch\('",
    "XMLHttpRequest": r"new XMLHttpRequest\(",
    "beacon": r"sendBeacon\(",
    "timer": r"setTimeout\(",
    "interval": r"setInterval\(",
    "idle callback": r"requestIdleCallback",
    "animation frame": r"requestAnimationFrame\(",
    "DOMContentLoaded": r"'DOMContentLoaded'",
    "load event": r"addEventListener\('load'",
    "mutation observer": r"new MutationObserver\(",
    "intersection observer": r"new IntersectionObserver\(",
    "worker": r"new Worker\(",
    "service worker": r"serviceWorker\.register\(",
    "POST": r"method: 'POST'",
}


def run(*words: str) -> str:
    command = [sys.executable, SITES / "build.py", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sites")
    run("-o", str(folder))
    return folder


def responses(built: Path, name: str) -> list[dict[str, Any]]:
    return json.loads((built / name / "site.json").read_text())["responses"]


def texts(tree: Path) -> Iterator[Path]:
    for path in sorted(tree.rglob("*")):
        if path.suffix in TEXTS and path.name != "site.json":
            yield path


class Addresses(HTMLParser):
    """The URLs that a document names, with its inline scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.base = ""
        self.found: list[str] = []
        self.inside = ""
        self.inline: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.inside = tag
        if tag == "base":
            self.base = given["href"]
        names = {"link": ["href"], "a": [], "base": []}.get(tag, ["src", "data", "poster", "data-src"])
        if given.get("rel", "") not in ("preconnect", "dns-prefetch"):
            self.found += [given[name] for name in names if name in given]
        for name in ("srcset", "imagesrcset"):
            self.found += [one.split()[0] for one in given.get(name, "").split(",") if one]
        self.inline.append(("style", given.get("style", "")))

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside in ("style", "script"):
            self.inline.append((self.inside, data))


def of_styles(text: str) -> list[str]:
    return re.findall(r"""(?:url\(\s*["']?|@import\s+["'])([^"')]+)""", text)


def of_script(text: str) -> list[str]:
    """Give what looks like a URL; with a star where something is added to it."""
    path = r"\.{0,2}/[\w@./-]+(?:\.\w+(?:\?[\w=&]*)?|(?=' \+))"
    literal = rf"""(?<!href=)(['"])(https://[^'"\s\\]+|{path})\1(\s*\+)?"""
    return [address + ("*" if more else "") for _, address, more in re.findall(literal, text)]


def named_in(path: Path, url: str) -> Iterator[str]:
    """Give all URLs that a built file names."""
    text = path.read_text()
    match path.suffix:
        case ".html":
            parser = Addresses()
            parser.feed(text)
            base = urljoin(url, parser.base)
            yield from (urljoin(base, address) for address in parser.found)
            for kind, inner in parser.inline:
                reader = of_styles if kind == "style" else of_script
                yield from (urljoin(base, address) for address in reader(inner))
        case ".css":
            yield from (urljoin(url, address) for address in of_styles(text))
        case ".js" | ".json":
            yield from (urljoin(url, address) for address in of_script(text))


def answered(address: str, exact: set[str], any_query: set[str], start: str) -> bool:
    """Whether a named URL has a response; a script's path may count from the page as well as from itself."""
    address = urldefrag(address).url
    for url in (address, urljoin(start, "/" + address.split("/", 3)[-1])):
        if url.endswith(("*", "/")) and "?" not in url:
            if any(known.startswith(url.rstrip("*")) for known in exact):
                return True
        elif url.rstrip("*") in exact or url.split("?")[0] in any_query:
            return True
    return False


def test_there_are_ten() -> None:
    assert sorted(path.parent.name for path in SITES.glob("*/site.toml")) == NAMES
    for name in NAMES:
        readme = (SITES / name / "README.md").read_text()
        assert "https://almanac.httparchive.org/" in readme, f"{name} says where its figures come from"


def test_a_build_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    names = ["chain", "fonts", "modules"]
    run(*names, "-o", str(tmp_path))
    for name in names:
        files = [path.relative_to(tmp_path) for path in (tmp_path / name).rglob("*") if path.is_file()]
        assert len(files) > 20
        assert [file for file in files if not filecmp.cmp(tmp_path / file, built / file, shallow=False)] == []


def test_unknown_sites_are_refused() -> None:
    command = [sys.executable, SITES / "build.py", "nwes", "-o", "unused"]
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert failed.returncode == 2 and "no site is called nwes" in failed.stderr


@pytest.mark.parametrize("name", NAMES)
def test_sites_have_the_size_of_real_ones(built: Path, name: str) -> None:
    answers = responses(built, name)
    hosts = {answer["url"].split("/")[2] for answer in answers}
    size = sum((built / name / answer["file"]).stat().st_size for answer in answers if answer["file"])
    assert 20 <= len(answers) <= 120
    assert 1 <= len(hosts) <= 12 and all(host.endswith(".test") for host in hosts)
    assert 0.3e6 < size < 4e6


@pytest.mark.parametrize("name", NAMES)
def test_responses_are_whole(built: Path, name: str) -> None:
    answers = responses(built, name)
    keys = [(answer["method"], answer["url"]) for answer in answers]
    assert len(keys) == len(set(keys))
    urls = {answer["url"] for answer in answers}
    for answer in answers:
        fields = dict(answer["fields"])
        assert answer["url"].startswith("https://")
        assert 1 <= answer["think_ms"] <= 500
        assert "server" in fields and "content-length" not in fields
        if answer["status"] in (301, 302):
            assert fields["location"].split("?")[0] in urls
        if answer["file"]:
            body = (built / name / answer["file"]).read_bytes()
            assert fields["content-type"] and body
            assert ("content-encoding" in fields) == answer["file"].endswith(".gz")
            assert not answer["file"].endswith(".gz") or gzip.decompress(body)
        else:
            assert answer["status"] != 200
    start = json.loads((built / name / "site.json").read_text())["start"]
    assert start in urls


@pytest.mark.parametrize("name", NAMES)
def test_every_url_in_the_sources_has_an_answer(built: Path, name: str) -> None:
    answers = responses(built, name)
    exact = {answer["url"] for answer in answers}
    any_query = {answer["url"] for answer in answers if answer["any_query"]}
    start = json.loads((built / name / "site.json").read_text())["start"]
    tree = built / name
    known = 0
    lost = []
    for path in texts(tree):
        url = "https://" + path.relative_to(tree).as_posix().removesuffix("index.html")
        for address in named_in(path, url):
            if address.startswith("https://") and "w3.org" not in address:
                known += 1
                if not answered(address, exact, any_query, start):
                    lost.append(f"{path.relative_to(tree)}: {address}")
    assert known > 15 and lost == []


@pytest.mark.parametrize("kind", SHOWN)
def test_every_kind_occurs(kind: str) -> None:
    pattern = re.compile(SHOWN[kind])
    sources = [path for path in texts(SITES) if "making" not in path.parts]
    assert any(pattern.search(path.read_text()) for path in sources)


def test_every_kind_of_answer_occurs(built: Path) -> None:
    answers = [answer for name in NAMES for answer in responses(built, name)]
    assert {answer["status"] for answer in answers} >= {200, 201, 204, 301, 302, 404}
    assert {answer["method"] for answer in answers} == {"GET", "POST", "OPTIONS"}
    fields = {field for answer in answers for field, _ in answer["fields"]}
    assert fields >= {"set-cookie", "etag", "last-modified", "vary", "cache-control", "location"}
    assert "access-control-max-age" in fields


def test_some_urls_change_from_load_to_load(built: Path) -> None:
    changing = {name for name in NAMES if any(answer["any_query"] for answer in responses(built, name))}
    # The service of fonts is asked with a query that stays.
    assert changing - {"fonts"} == VOLATILE
    for name in VOLATILE:
        sources = "".join(path.read_text() for path in texts(SITES / name))
        assert "Date.now()" in sources and "Math.random()" in sources
    registering = {
        name
        for name in NAMES
        if any("serviceWorker.register" in path.read_text() for path in texts(SITES / name))
    }
    assert registering == WITH_WORKER


def test_nothing_binary_is_kept() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "sites"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("no git here")
    files = [ROOT / line for line in listed.stdout.splitlines()]
    assert all(path.read_bytes().decode() for path in files if path.is_file())
    assert sum(path.stat().st_size for path in files if path.is_file()) < 300_000
