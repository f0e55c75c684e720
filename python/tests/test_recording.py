"""The file of a recording: what is written comes back, others read it, and a damaged one is refused."""

import gzip
import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from conftest import Command
from loadstone import files
from loadstone.files import InputError
from loadstone.recording import Archive, BodyState, LoadNote, RecordedExchange, archive, warc

STARTED = 1_700_000_000.25
NOTE = LoadNote(1, "https://a.test/", False, STARTED, 812.5, "quiet", "A page", "F1", 0, 1.25)
DOCUMENT = RecordedExchange(
    url="https://a.test/?q=1",
    method="GET",
    request_fields=(("user-agent", "x"), ("cookie", "a=b")),
    request_body=b"",
    status=200,
    response_fields=(
        ("content-type", "text/html; charset=utf-8"),
        ("content-encoding", "br"),
        ("set-cookie", "a=b; Path=/"),
        ("set-cookie", "c=d"),
        ("content-length", "31"),
    ),
    body="<p>Schön".encode(),
    body_state=BodyState.WHOLE,
    wire_bytes=31,
    raw=None,
    resource_type="Document",
    frame="F1",
    load=1,
    request="7.1",
    protocol="h2",
    address="198.18.0.2",
    started=STARTED,
)
UPLOAD = replace(
    DOCUMENT,
    url="https://b.test:8443/send",
    method="POST",
    request_body=b"\x00\xff\r\n\r\nGET / HTTP/1.1",
    status=204,
    response_fields=(("server", "x"),),
    body=b"",
    raw=b"",
    wire_bytes=0,
    resource_type="XHR",
    request="7.2",
    frame="",
)


def recording(*exchanges: RecordedExchange, **changed: Any) -> Archive:
    extras = {archive.HAR: archive.packed(b'{"log": {}}'), archive.events_of(1): archive.packed(b"{}\n")}
    return replace(Archive("a", [NOTE], exchanges, "Chrome/156", False, extras), **changed)


def written(one: Archive) -> bytes:
    out = io.BytesIO()
    one.write(out)
    return out.getvalue()


def read(folder: Path, data: bytes) -> Archive:
    path = folder / "a.wacz"
    path.write_bytes(data)
    return Archive.read(str(path))


# --- what is written comes back ---


def test_a_recording_comes_back_as_it_was(tmp_path: Path) -> None:
    again = replace(DOCUMENT, load=2, request="9.1", started=STARTED + 3)
    made = recording(DOCUMENT, UPLOAD, again)
    back = read(tmp_path, written(made))
    assert back.exchanges == [DOCUMENT, UPLOAD, again]
    assert (back.loads, back.browser, back.keeps_secrets) == ([NOTE], "Chrome/156", False)
    assert back.extras == [archive.events_of(1), archive.HAR]
    assert back.extra(archive.HAR) == b'{"log": {}}'
    with pytest.raises(InputError, match=r"a\.wacz: has no extra/none: record it again"):
        back.extra("extra/none")


def test_more_files_are_put_beside_it(tmp_path: Path) -> None:
    more = recording(DOCUMENT).with_extra(archive.GRAPH, b"{}").with_extra("extra/notes.txt.zst", b"x" * 99)
    back = read(tmp_path, written(more))
    assert (back.extra(archive.GRAPH), back.extra("extra/notes.txt.zst")) == (b"{}", b"x" * 99)
    assert back.extra(archive.HAR) and len(back.packed["extra/notes.txt.zst"]) < 99


def test_the_same_recording_is_the_same_bytes_and_equal_bodies_are_there_once() -> None:
    long = replace(DOCUMENT, body=bytes(range(256)) * 40 + hashlib.sha512(b"x").digest() * 100)
    one = written(recording(long))
    assert one == written(recording(long))
    assert len(written(recording(long, replace(long, load=2)))) < len(one) + 2000


names = st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True).filter(
    lambda name: not name.startswith("x-orig-")
)
values = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=50).map(str.strip)


@given(
    fields=st.lists(st.tuples(names, values), max_size=8),
    body=st.binary(max_size=300),
    sent=st.binary(max_size=100),
    status=st.integers(100, 599),
)
def test_any_exchange_comes_back(
    fields: list[tuple[str, str]], body: bytes, sent: bytes, status: int
) -> None:
    coded = any(name == "content-encoding" and value not in ("", "identity") for name, value in fields)
    one = replace(
        DOCUMENT, response_fields=tuple(fields), request_fields=tuple(fields), body=body,
        request_body=sent, status=status, raw=None if coded else body,
    )  # fmt: skip
    [back] = warc.read("a", warc.written([one], "x").warc)
    assert back == one


@pytest.mark.parametrize(
    ("url", "fields"),
    [
        ("https://a.test/a b?ü=ö#", (("x-a", "ü\u2028ö"),)),
        ("https://a.test/[x]|^`", (("x-a", "one\ntwo\r\n\r\nthree"),)),
        ("https://a.test/%0d%0a", ((":status", "200"), ("", "nothing"), ("x", "y"))),
    ],
)
def test_what_is_odd_in_a_head_breaks_no_record(url: str, fields: Any) -> None:
    odd = replace(DOCUMENT, url=url, response_fields=fields, request_fields=fields)
    back = warc.read("a", warc.written([odd, UPLOAD], "x").warc)
    assert len(back) == 2 and back[1] == UPLOAD
    assert (back[0].status, back[0].body) == (200, odd.body)
    assert {name for name, _ in back[0].response_fields} <= {"x-a", "x"}


# --- others read it ---


def test_it_is_a_wacz_as_its_standard_says(tmp_path: Path) -> None:
    """WACZ 1.1.1, 5.2 and 5.3: the files, the digest of each, and nothing compressed twice."""
    data = written(recording(DOCUMENT, UPLOAD))
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        assert zipped.testzip() is None
        assert {one.compress_type for one in zipped.infolist()} == {zipfile.ZIP_STORED}
        assert {one.external_attr >> 16 for one in zipped.infolist()} == {0o600}
        parts = {name: zipped.read(name) for name in zipped.namelist()}
    package = json.loads(parts["datapackage.json"])
    assert (package["profile"], package["wacz_version"]) == ("data-package", "1.1.1")
    assert package["mainPageUrl"] == "https://a.test/"
    listed = {one["path"]: one for one in package["resources"]}
    assert set(parts) - set(listed) == {"datapackage.json", "datapackage-digest.json"}
    for path, one in listed.items():
        assert one["hash"] == f"sha256:{hashlib.sha256(parts[path]).hexdigest()}"
        assert (one["bytes"], one["name"]) == (len(parts[path]), path.replace("/", "-"))
    digest = json.loads(parts["datapackage-digest.json"])["hash"]
    assert digest == f"sha256:{hashlib.sha256(parts['datapackage.json']).hexdigest()}"
    header, page = map(json.loads, parts["pages/pages.jsonl"].splitlines())
    assert header["format"] == "json-pages-1.0"
    assert (page["url"], page["ts"], page["title"]) == (NOTE.url, "2023-11-14T22:13:20.250000Z", NOTE.title)


def test_the_index_says_where_each_response_is() -> None:
    again = replace(DOCUMENT, load=2, started=STARTED + 3)
    made = warc.written([UPLOAD, DOCUMENT, again], "x")
    lines = gzip.decompress(made.index).decode().splitlines()
    assert lines == sorted(lines) and len(lines) == 3
    assert lines[0].startswith("test,a)/?q=1 20231114221320 {")
    assert lines[2].startswith("test,b:8443)/send 20231114221320 {")
    found = []
    for line in lines:
        told = json.loads(line.split(" ", 2)[2])
        member = made.warc[int(told["offset"]) :][: int(told["length"])]
        [record] = ArchiveIterator(io.BytesIO(member))
        assert record.rec_headers.get_header("WARC-Target-URI") == told["url"]
        found.append((record.rec_type, told["mime"], told["status"]))
    assert found == [
        ("response", "text/html", "200"),
        ("revisit", "warc/revisit", "200"),
        ("response", "", "204"),
    ]


def test_a_long_index_is_in_blocks_that_are_found_by_their_first_line() -> None:
    """Blocks that are compressed one by one, and a list with their places (ZipNum)."""
    many = [replace(DOCUMENT, url=f"https://a.test/{number:05}", body=b"") for number in range(3001)]
    made = warc.written(many, "x")
    meta, *blocks = (line.split(" ", 2) for line in made.blocks.decode().splitlines())
    assert meta[0] == "!meta" and json.loads(meta[2])["filename"] == "index.cdx.gz"
    assert [key for key, _, _ in blocks] == ["test,a)/00000", "test,a)/03000"]
    lines = []
    for key, _, place in map(tuple, blocks):
        told = json.loads(place)
        block = made.index[told["offset"] :][: told["length"]]
        assert told["digest"] == f"sha256:{hashlib.sha256(block).hexdigest()}"
        lines += gzip.decompress(block).decode().splitlines()
        assert gzip.decompress(block).decode().startswith(key)
    assert len(lines) == 3001 and lines == sorted(lines)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www.A.test/B?z=1&a=2&z=0", "test,a)/b?a=2&z=1&z=0"),
        ("http://www2.a.test:80", "test,a)/"),
        ("https://a.test:443/x", "test,a)/x"),
        ("https://a.test:8443/x?", "test,a:8443)/x"),
        ("http://127.0.0.1:99/", "1,0,0,127:99)/"),
        ("https://a.test/x y?q=a b", "test,a)/x%20y?q=a+b"),
    ],
)
def test_urls_are_sorted_as_players_do(url: str, key: str) -> None:
    made = warc.written([replace(DOCUMENT, url=url)], "x")
    assert gzip.decompress(made.index).decode().rpartition(" 2023")[0] == key


def test_a_response_is_stored_as_a_browser_sees_it() -> None:
    """Without codings, with its own length; what its head said is kept beside it."""
    records = [
        (record.rec_type, record.http_headers, record.raw_stream.read())
        for record in ArchiveIterator(io.BytesIO(warc.written([DOCUMENT], "x").warc))
    ]
    assert [kind for kind, _, _ in records] == ["warcinfo", "response", "request"]
    _, head, body = records[1]
    assert body == DOCUMENT.body
    assert head.get_header("content-length") == str(len(DOCUMENT.body))
    assert head.get_header("content-encoding") is None
    assert head.get_header("x-orig-content-encoding") == "br"
    assert [value for name, value in head.headers if name == "set-cookie"] == ["a=b; Path=/", "c=d"]


def test_warcio_finds_every_record_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(warc.written([DOCUMENT, UPLOAD], "x").warc)

    class Told:
        inputs = (str(path),)
        verbose = True

    assert Checker(Told()).process_all() in (None, 0)
    assert "fail" not in capsys.readouterr().out


# --- what is refused ---


def changed(data: bytes, change: Callable[[dict[str, bytes]], None]) -> bytes:
    """Change the files of a recording, and describe them anew."""
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        parts = {name: zipped.read(name) for name in zipped.namelist()}
    change(parts)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in parts.items():
            zipped.writestr(name, content)
    return out.getvalue()


def described(parts: dict[str, bytes], change: Callable[[dict[str, Any]], None]) -> None:
    package = json.loads(parts["datapackage.json"])
    for one in package["resources"]:
        content = parts[one["path"]]
        one["hash"], one["bytes"] = f"sha256:{hashlib.sha256(content).hexdigest()}", len(content)
    change(package)
    parts["datapackage.json"] = json.dumps(package).encode()


def with_warc(content: bytes) -> Callable[[dict[str, bytes]], None]:
    def change(parts: dict[str, bytes]) -> None:
        parts["archive/data.warc.gz"] = content
        described(parts, lambda _: None)

    return change


def told(**said: Any) -> Callable[[dict[str, bytes]], None]:
    return lambda parts: described(parts, lambda package: package["loadstone"].update(said))


def listing(path: str) -> Callable[[dict[str, bytes]], None]:
    def change(parts: dict[str, bytes]) -> None:
        listed = {"path": path, "hash": "sha256:" + "0" * 64, "bytes": 0}
        described(parts, lambda package: package["resources"].append(listed))

    return change


WARC = warc.written([DOCUMENT, UPLOAD], "x").warc


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda parts: parts.pop("datapackage.json"), "has no datapackage.json: give a recording"),
        (lambda parts: parts.pop("archive/data.warc.gz"), "has no archive/data.warc.gz"),
        (lambda parts: parts.update({"datapackage.json": b"{}"}), "'loadstone record' did not write"),
        (lambda parts: parts.update({"datapackage.json": b"[" * 10_000}), "'loadstone record' did not write"),
        (
            lambda parts: parts.update({"pages/pages.jsonl": b"other"}),
            "pages/pages.jsonl is not what was recorded",
        ),
        (told(version=2), "has version 2, this reads 1"),
        (told(loads=[]), "has no load in it"),
        (told(loads=[{"number": "x"}]), "is damaged"),
        (told(loads=7), "is damaged"),
        (lambda parts: described(parts, lambda one: one.update(resources=7)), "has version"),
        (lambda parts: described(parts, lambda one: one.update(resources=[7])), "cannot be in it"),
        *(
            (listing(path), "cannot be in it")
            for path in ("../x", "/etc/passwd", "a//b", "extra/../x", "", "a\\b")
        ),
        (listing("extra/none"), "has no extra/none"),
        (with_warc(b"nothing"), "WARC is damaged"),
        (with_warc(WARC[:-7]), "is cut short"),
        (with_warc(gzip.compress(b"WARC/1.1\r\nWARC-Type: response\r\n")), "WARC is damaged"),
        (with_warc(gzip.compress(b"GET / HTTP/1.1\r\n\r\n")), "WARC is damaged"),
        (
            with_warc(gzip.compress(gzip.decompress(WARC).replace(b"urn:uuid", b"urn:uuyd", 2))),
            "WARC is damaged",
        ),
        (
            with_warc(gzip.compress(gzip.decompress(WARC).replace(b'"load": 1', b'"load":[]'))),
            "WARC is damaged",
        ),
        (
            with_warc(gzip.compress(gzip.decompress(WARC).replace(b"2023-11-14T", b"2023-99-14T"))),
            "WARC is damaged",
        ),
    ],
)
def test_a_damaged_recording_is_refused_in_one_line(
    tmp_path: Path, change: Callable[[dict[str, bytes]], None], why: str
) -> None:
    data = changed(written(recording(DOCUMENT, UPLOAD)), change)
    with pytest.raises(InputError) as refused:
        read(tmp_path, data)
    message = str(refused.value)
    assert why in message and message.startswith(str(tmp_path)) and "\n" not in message


def test_what_is_no_zip_is_refused(tmp_path: Path) -> None:
    data = written(recording(DOCUMENT))
    for content in (b"", b"{}", data[: len(data) // 2], b"PK\x03\x04" + bytes(100)):
        with pytest.raises(InputError, match="no recording that can be read"):
            read(tmp_path, content)
    with pytest.raises(InputError, match="there is no such file"):
        Archive.read(str(tmp_path / "none.wacz"))
    with pytest.raises(InputError, match="cannot be read"):
        Archive.read(str(tmp_path))


@pytest.mark.parametrize("place", range(0, 12))
def test_a_byte_that_is_changed_anywhere_is_no_crash(tmp_path: Path, place: int) -> None:
    data = bytearray(written(recording(DOCUMENT, UPLOAD)))
    at = len(data) * place // 12
    data[at] ^= 0x40
    try:
        read(tmp_path, bytes(data))
    except InputError as error:
        assert "\n" not in str(error)


def test_bombs_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = gzip.compress(bytes(50_000))
    with pytest.raises(InputError, match="longer than"):
        warc.unpacked("a", zeros * 3, 149_999)
    assert len(warc.unpacked("a", zeros * 3, 150_000)) == 150_000
    monkeypatch.setattr(archive, "MOST_BYTES", 100_000)
    bomb = changed(
        written(recording(DOCUMENT)), lambda parts: parts.update({"pages/pages.jsonl": bytes(200_000)})
    )
    assert len(bomb) < 20_000
    with pytest.raises(InputError, match=r"pages/pages\.jsonl is too long"):
        read(tmp_path, bomb)
    packed = {archive.HAR: archive.packed(bytes(200_000))}
    with pytest.raises(InputError, match=r"extra/page\.har\.zst: .*: record it again"):
        read(tmp_path, written(recording(DOCUMENT, packed=packed))).extra(archive.HAR)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    out = io.BytesIO(written(recording(DOCUMENT)))
    with zipfile.ZipFile(out, "a") as zipped, pytest.warns(UserWarning, match="Duplicate"):
        zipped.writestr("datapackage.json", "{}")
    with pytest.raises(InputError, match="two files of one name"):
        read(tmp_path, out.getvalue())


def test_only_a_recording_is_written_over(tmp_path: Path, loadstone: Command) -> None:
    path = tmp_path / "a.wacz"
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.writestr("thesis.tex", "years of work")
    result = loadstone("record", "http://127.0.0.1:1/", "-o", str(path), "--chromium", "sh")
    assert result.code == 2 and "is there and no recording" in result.err
    assert archive.KIND.is_of(written(recording(DOCUMENT))[:4096])
    for change in (lambda write: write(written_to), lambda _: None):
        target = tmp_path / "new.wacz"
        with files.private_replacement(str(target), archive.KIND) as write:
            assert not target.exists()
            change(write)
        if target.exists():
            assert target.stat().st_mode & 0o777 == 0o600
            assert target.read_bytes() == b"PK"
            target.unlink()
    assert [one.name for one in tmp_path.iterdir()] == ["a.wacz"]


def written_to(file: Any) -> None:
    file.write(b"PK")
