"""The PAGE argument: files of all sorts, and what is said of those that cannot be used."""

import gzip
import io
import json
import lzma
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import EXAMPLES, ROOT, Command
from loadstone import files, pages
from loadstone.files import InputError

HARS = ROOT.parent / "shared" / "data" / "har"

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
    ".xz": lzma.compress,
    ".zip": lambda data: zipped({"a.har": data}),
}


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


@pytest.mark.parametrize("example", ["shop.har", "news.page.json"])
@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("renamed", [False, True])
def test_a_page_is_what_its_bytes_are(tmp_path: Path, example: str, packing: str, renamed: bool) -> None:
    plain = pages.read(str(EXAMPLES / example))
    path = tmp_path / ("renamed.bin" if renamed else example + packing)
    path.write_bytes(PACKED[packing]((EXAMPLES / example).read_bytes()))
    read = pages.read(str(path))
    assert (read.json, read.notes) == (plain.json, plain.notes)


@pytest.mark.parametrize("packing", [".gz", ".zst", ".xz"])
def test_members_follow_one_another(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "two"
    path.write_bytes(PACKED[packing](b'{"objects": ') + PACKED[packing](b"[]}"))
    assert files.read(str(path)) == b'{"objects": []}'


@pytest.mark.parametrize("packing", PACKED)
def test_a_page_comes_by_standard_input_too(packing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = PACKED[packing]((EXAMPLES / "shop.har").read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert pages.read("-").json == pages.read("example:shop").json


def test_what_cannot_be_unpacked_is_said_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "many.har.zip"
    path.write_bytes(zipped({"a.har": b"{}", "b.har": b"{}", "__MACOSX/a.har": b"{}"}))
    with pytest.raises(InputError, match="2 files in one zip file: unpack it"):
        files.read(str(path))
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(InputError, match="cannot be unpacked here"):
        files.read(str(path))
    with pytest.raises(InputError, match=r"brotli -d shop\.har\.br"):
        files.read("shop.har.br")


@pytest.mark.parametrize("packing", [".gz", ".zst", ".xz"])
def test_every_truncation_of_a_compressed_file_is_noticed(tmp_path: Path, packing: str) -> None:
    packed = PACKED[packing](b'{"objects": []}' * 9)
    path = tmp_path / "cut"
    for length in range(4, len(packed)):
        path.write_bytes(packed[:length])
        with pytest.raises(InputError, match=r"cut: the (gzip|zstd|xz) file is (cut short|damaged)"):
            files.read(str(path))
    path.write_bytes(packed)
    assert files.read(str(path)).startswith(b'{"objects"')


FOREIGN = {
    "UTF-16": '{"log": {}}'.encode("utf-16"),
    "capture of packets": bytes.fromhex("d4c3b2a102000400"),
    "record the page in a browser": bytes.fromhex("0a0d0d0a1c0000004d3c2b1a"),
    "Save all as HAR": b'[{"method": "Network.requestWillBeSent"}]',
    "HTML or XML": b"<!doctype html>",
    "no JSON object": b"shop",
}


@pytest.mark.parametrize("said", FOREIGN)
def test_what_others_take_for_a_recording_is_told_apart(tmp_path: Path, said: str) -> None:
    path = tmp_path / "page"
    path.write_bytes(FOREIGN[said])
    with pytest.raises(InputError, match=f"page: neither a HAR nor a page file, .*{said}"):
        pages.read(str(path))


@pytest.mark.parametrize("packing", PACKED)
def test_the_limit_holds_on_both_sides(tmp_path: Path, packing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LIMIT", 3_000_000)
    path = tmp_path / "large"
    path.write_bytes(PACKED[packing](b"{" * 3_000_000))
    assert len(files.read(str(path))) == 3_000_000
    path.write_bytes(PACKED[packing](b"{" * 3_000_001))
    with pytest.raises(files.TooLargeError):
        files.read(str(path))


def test_a_mark_of_the_byte_order_is_no_content(tmp_path: Path) -> None:
    path = tmp_path / "marked.har"
    path.write_bytes(b"\xef\xbb\xbf" + (EXAMPLES / "shop.har").read_bytes())
    assert pages.read(str(path)).json == pages.read(str(EXAMPLES / "shop.har")).json


def _two_pages(path: Path) -> None:
    """Write the shop twice in one file; the second time with half of its entries."""
    log = json.loads((EXAMPLES / "shop.har").read_text())["log"]
    second = {**log["pages"][0], "id": "page_2"}
    half = [{**entry, "pageref": "page_2"} for entry in log["entries"][:20]]
    both = {**log, "pages": [*log["pages"], second], "entries": [*log["entries"], *half]}
    path.write_text(json.dumps({"log": both}))


def test_a_number_picks_a_page_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "two.har"
    _two_pages(path)
    sizes = [len(json.loads(pages.read(f"{path}{pick}").json)["objects"]) for pick in ("", "#1", "#2")]
    assert sizes == [42, 42, 20]
    assert pages.read(f"{path}#2").notes["page"] == 2
    for pick, remedy in [("#0", "count from 1"), ("#3", "choose one from 1 to 2")]:
        with pytest.raises(InputError, match=remedy):
            pages.read(f"{path}{pick}")


def test_a_file_may_have_the_sign_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "shop.har#2"
    path.write_bytes((EXAMPLES / "shop.har").read_bytes())
    assert pages.read(str(path)).notes["page"] == 1


def test_a_page_file_has_no_second_page() -> None:
    with pytest.raises(InputError, match="only a HAR"):
        pages.read(f"{EXAMPLES / 'news.page.json'}#2")


def test_synthetic_pages_have_what_was_asked_for() -> None:
    page = json.loads(pages.read("synthetic:objects=64,size=10KB").json)
    assert [entry["bytes"] for entry in page["objects"]] == [10_000] * 64


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    content=st.one_of(st.binary(max_size=300), st.text('{}[]":,logentries0 \n', max_size=80).map(str.encode))
)
def test_whatever_a_file_holds_it_is_read_or_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any.har"
    path.write_bytes(content)
    try:
        pages.read(str(path))
    except InputError as error:
        assert str(error).startswith(str(path)) and "\n" not in str(error)


def test_the_examples_are_what_their_script_writes(tmp_path: Path) -> None:
    import runpy

    make = runpy.run_path(str(EXAMPLES / "make.py"))
    assert json.loads((EXAMPLES / "shop.har").read_text()) == make["shop_har"]()
    assert json.loads((EXAMPLES / "news.page.json").read_text()) == make["news_page"]()


def _hars() -> list[Path]:
    return sorted(path for path in HARS.rglob("*.har*") if path.is_file()) if HARS.is_dir() else []


def test_real_hars_are_read_or_refused_in_one_line(loadstone: Command) -> None:
    if not _hars():
        pytest.skip(f"no HARs of real pages at {HARS.relative_to(ROOT.parent)} next to the repository")
    refused = []
    for path in _hars():
        result = loadstone("page", str(path), "--json")
        if result.code == 0:
            assert result.document["objects"] >= 1, path
        else:
            assert (result.code, result.err.count("\n")) == (2, 1), path
            refused.append(result.err)
    assert len(refused) <= len(_hars()) // 10, refused


def test_what_a_service_worker_answered_is_no_object_and_what_it_fetched_is(tmp_path: Path) -> None:
    har = json.loads((EXAMPLES / "shop.har").read_text())
    objects = [one["url"] for one in json.loads(pages.read(str(EXAMPLES / "shop.har")).json)["objects"]]
    answered = har["log"]["entries"][5]
    fetched = json.loads(json.dumps(answered))
    fetched["request"]["url"] = f"{answered['request']['url']}?worker"
    answered["response"]["_fetchedViaServiceWorker"] = True
    har["log"]["entries"].append(fetched)
    path = tmp_path / "worker.har"
    path.write_text(json.dumps(har))
    page = pages.read(str(path))
    left = [one["url"] for one in json.loads(page.json)["objects"]]
    assert set(objects) - set(left) == {answered["request"]["url"]}
    (own,) = set(left) - set(objects)
    assert own.split("?")[0] == answered["request"]["url"]
    assert page.notes["skipped"]["from_cache"] == 1
