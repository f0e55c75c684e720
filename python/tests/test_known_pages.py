"""The pages with known answers have the form of known_pages/README.md and show every kind of edge."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

PAGES = Path(__file__).parent / "known_pages"
NAMES = sorted(path.parent.name for path in PAGES.glob("*/expected.json"))
EXPECTED = {name: json.loads((PAGES / name / "expected.json").read_text()) for name in NAMES}

KEYS = {"what", "found", "runs", "not_fetched", "load_event_needs", "load_event_not_needs"}
FURTHER_KEYS = {"serve", "split", "pause_ms", "start", "fetches", "connects"}
FOUND_KEYS = {"by", "from", "tag"}
FURTHER_FOUND_KEYS = {"element", "ahead", "waits", "waits_run", "delay_ms", "after_found"}
FURTHER_FOUND_KEYS |= {"after_parse", "after_load"}
RUN_KEYS = {"waits", "after_runs", "after_parse", "blocks_parser"}
WAYS = {"parser", "frame", "style", "import", "script", "worker", "redirect", "navigation"}
LARGEST_FILE = 64 * 1024

INLINE = re.compile(r"<script(?![^>]*\bsrc=)(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)

# What each kind of edge is recognised by in the sources of a page.
SHOWN = {
    "synchronous script": '<script src="',
    "async": "<script async",
    "defer": "<script defer",
    "module": 'type="module" src',
    "async module": 'type="module" async',
    "inline module": '<script type="module">',
    "dynamic import": "import(",
    "import map": 'type="importmap"',
    "modulepreload": 'rel="modulepreload"',
    "preload of a font": 'as="font"',
    "preload of a script": 'as="script"',
    "preconnect": 'rel="preconnect"',
    "document.write": "document.write(",
    "image by script": "new Image()",
    "scripts in order": "async = false",
    "load handler of a script": "script.onload",
    "error handler of a script": "onerror=",
    "load handler of an image": "onload=",
    "imported sheet": "@import",
    "media of a sheet": 'media="print"',
    "picture of a sheet": "background: url(",
    "image-set": "image-set(",
    "style attribute": 'style="height: 20px; background',
    "font": "@font-face",
    "range of a font": "unicode-range",
    "picture": "<picture>",
    "srcset": "1x",
    "lazy image": 'loading="lazy"',
    "poster": "poster=",
    "object": "<object",
    "image button": 'type="image"',
    "frame": "<iframe",
    "second host": "//other.known.test",
    "fetch": "fetch(",
    "XMLHttpRequest": "XMLHttpRequest",
    "timer": "setTimeout(",
    "animation frame": "requestAnimationFrame(",
    "idle callback": "requestIdleCallback(",
    "DOMContentLoaded": "DOMContentLoaded",
    "load event": 'addEventListener("load"',
    "mutation observer": "MutationObserver",
    "intersection observer": "IntersectionObserver",
    "pagehide": "pagehide",
    "worker": "new Worker(",
    "import of a worker": "importScripts(",
    "noscript": "<noscript>",
    "comment": "<!-- <img",
    "template": "<template>",
    "base": "<base",
    "nomodule": "nomodule",
    "line ends of two bytes": "\r\n\t",
    "character of four bytes": "🎈",
}


def text(name: str, path: str) -> str:
    """Give a file with the line ends that it has."""
    return (PAGES / name / path).read_bytes().decode()


def sources(name: str) -> str:
    folder = PAGES / name
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".json"]
    return "\n".join(path.read_bytes().decode() for path in files)


def inline_scripts(name: str) -> list[str]:
    """Give the inline scripts of the document that run."""
    found = INLINE.finditer(text(name, "index.html"))
    data = ("importmap", "text/plain")
    return [one["text"] for one in found if not any(kind in one["attributes"] for kind in data)]


def has_file(expected: dict[str, Any], path: str) -> bool:
    """Whether the body of a resource is a file here."""
    special = expected.get("serve", {}).get(path, {})
    return special.get("status", 200) == 200 and "made" not in special


def test_there_are_enough_pages() -> None:
    assert len(NAMES) >= 44
    assert {path.name for path in PAGES.iterdir() if path.is_dir()} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_keys_are_the_described_ones(name: str) -> None:
    expected = EXPECTED[name]
    assert expected.keys() >= KEYS and expected.keys() <= KEYS | FURTHER_KEYS
    assert len(expected["what"]) > 40
    assert ("split" in expected) == ("pause_ms" in expected)
    for one in expected["found"].values():
        assert one.keys() >= FOUND_KEYS and one.keys() <= FOUND_KEYS | FURTHER_FOUND_KEYS
        assert one["by"] in WAYS
        assert one.get("after_parse", "end") == "end"
    for one in expected["runs"].values():
        assert one.keys() == RUN_KEYS
        assert one["after_parse"] in ("end", "tag", None)
        assert isinstance(one["blocks_parser"], bool)
        assert not (one["blocks_parser"] and one["after_parse"] == "end")


@pytest.mark.parametrize("name", NAMES)
def test_tags_occur_once_in_their_documents(name: str) -> None:
    expected = EXPECTED[name]
    for path, one in expected["found"].items():
        if one["tag"] is not None:
            assert text(name, one["from"]).count(one["tag"]) == 1, path
        # By the parser alone is what has a place in the document.
        assert one["by"] != "parser" or one["tag"] is not None
        if "element" in one:
            assert text(name, "index.html").count(one["element"]) == 1, path
    for one in expected.get("connects", []):
        assert text(name, "index.html").count(one["tag"]) == 1


@pytest.mark.parametrize("name", NAMES)
def test_what_is_named_is_there(name: str) -> None:
    expected = EXPECTED[name]
    found = expected["found"]
    for path, one in found.items():
        assert not has_file(expected, path) or (PAGES / name / path).is_file(), path
        assert one["from"] is None or one["from"] in {"index.html", *found}
        assert set(one.get("waits", [])) | set(one.get("after_found", [])) <= found.keys()
        assert set(one.get("waits_run", [])) <= expected["runs"].keys()
    for path, one in expected["runs"].items():
        assert path in found or path.startswith("inline:")
        assert set(one["waits"]) <= found.keys()
        assert path in one["waits"] or path.startswith("inline:")
        assert set(one["after_runs"]) <= expected["runs"].keys() - {path}
    needs, others = set(expected["load_event_needs"]), set(expected["load_event_not_needs"])
    assert needs <= found.keys() and others <= found.keys() and not needs & others
    assert expected.get("serve", {}).keys() <= found.keys()
    assert expected.get("start", "index.html") in {"index.html", *found}


@pytest.mark.parametrize("name", NAMES)
def test_files_are_those_that_are_named(name: str) -> None:
    expected = EXPECTED[name]
    folder = PAGES / name
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    named = {"index.html", "expected.json", *expected["found"], *expected["not_fetched"]}
    assert files <= named
    assert all((folder / path).stat().st_size < LARGEST_FILE for path in files)
    for path in expected["not_fetched"]:
        assert path not in expected["found"]
        assert path.rsplit("/", 1)[-1] in sources(name)


@pytest.mark.parametrize("name", NAMES)
def test_inline_scripts_say_their_numbers(name: str) -> None:
    numbers = [f"inline:{number}" for number in range(len(inline_scripts(name)))]
    listed = sorted(path for path in EXPECTED[name]["runs"] if path.startswith("inline:"))
    assert listed == numbers
    for number, script in zip(numbers, inline_scripts(name), strict=True):
        assert f'push("{number}")' in script


@pytest.mark.parametrize("name", NAMES)
def test_no_script_waits_for_itself(name: str) -> None:
    runs = EXPECTED[name]["runs"]
    done: set[str] = set()
    while ready := {path for path in runs.keys() - done if set(runs[path]["after_runs"]) <= done}:
        done |= ready
    assert done == runs.keys()


def test_documents_are_cut_between_characters() -> None:
    cut = [name for name in NAMES if "split" in EXPECTED[name]]
    assert len(cut) >= 2
    for name in cut:
        body = (PAGES / name / "index.html").read_bytes()
        head, rest = body[: EXPECTED[name]["split"]], body[EXPECTED[name]["split"] :]
        assert head.decode() and rest.decode()


@pytest.mark.parametrize("kind", SHOWN)
def test_every_kind_occurs(kind: str) -> None:
    assert [name for name in NAMES if SHOWN[kind] in sources(name)]


def test_every_answer_occurs() -> None:
    found = [one for expected in EXPECTED.values() for one in expected["found"].values()]
    runs = [one for expected in EXPECTED.values() for one in expected["runs"].values()]
    assert {one["by"] for one in found} == WAYS
    assert set().union(*found) == FOUND_KEYS | FURTHER_FOUND_KEYS
    assert {one.get("ahead") for one in found} == {True, False, None}
    assert set().union(*EXPECTED.values()) == KEYS | FURTHER_KEYS
    shapes = {(one["after_parse"], one["blocks_parser"]) for one in runs}
    assert shapes == {("end", False), ("tag", False), ("tag", True), (None, False), (None, True)}
    assert max(len(one["waits"]) for one in runs) >= 5
    # Bytes, characters and UTF-16 units differ somewhere before a tag, and a line is long somewhere.
    assert any(len(line) > 20_000 for name in NAMES for line in text(name, "index.html").split("\n"))
