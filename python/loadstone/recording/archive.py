"""The file of a recording: a WACZ 1.1.1, a zip that ReplayWeb.page opens, too (docs/recording.md).

`archive/data.warc.gz` has heads and bodies, `extra/` what other players do not need: the HAR, DevTools'
events and the trace of each load, the page graph. `datapackage.json` has the digest of each, and says what
was recorded.
"""

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from loadstone import _native, files
from loadstone._native import LoadstoneError
from loadstone.files import InputError
from loadstone.recording import warc
from loadstone.recording.exchange import RecordedExchange

VERSION = 1
"""Of what is in `extra/` and in our part of `datapackage.json`."""
KIND = files.Kind("recording", rb"(?s)PK\x03\x04.{26}archive/data\.warc\.gz")
"""A recording is written over a recording only."""
HAR = "extra/page.har.zst"
GRAPH = "extra/page.page.json"

_WACZ = "1.1.1"
_WARC = f"archive/{warc.FILE}"
_INDEX = f"indexes/{warc.INDEX}"
_BLOCKS = "indexes/index.idx"
_PAGES = "pages/pages.jsonl"
_PACKAGE = "datapackage.json"
_NAME = re.compile(r"(?:[a-z0-9][a-zA-Z0-9._-]*/){0,4}[a-z0-9][a-zA-Z0-9._-]*")
MOST_FILES = 10_000
MOST_BYTES = 1 << 30
"""Of the file, and of any one in it."""
_MOST_DESCRIPTION = 1 << 24


def events_of(load: int) -> str:
    """Give where DevTools' events of a load are."""
    return f"extra/loads/{load}/devtools.jsonl.zst"


def trace_of(load: int) -> str:
    """Give where the trace of a load is."""
    return f"extra/loads/{load}/trace.json.zst"


@dataclass(frozen=True)
class LoadNote:
    """One load of a page, and what became of it."""

    number: int
    """From 1."""
    url: str
    """As it was asked for."""
    warm: bool
    """With the cache of the load before."""
    started: float
    """Seconds since 1970."""
    onload_ms: float | None
    """When the load event began; `None` if it did not."""
    ended: str
    """`quiet`; or `busy`, if the network did not become quiet; or why it ended: `late`, `crashed`."""
    title: str = ""
    main_frame: str = ""
    lost: int = 0
    """Requests of which Chromium told no more than the response."""
    wall_per_cpu: float | None = None
    """How often longer the tasks of the page took until the load event than the processor worked on them."""
    filmed: bool = False
    """Whether pictures were taken of what it showed."""


@dataclass(frozen=True)
class Archive:
    """A recording."""

    name: str
    """Its file, as it was given; for messages."""
    loads: Sequence[LoadNote]
    exchanges: Sequence[RecordedExchange]
    """In the order in which they began, load by load."""
    browser: str
    """Such as `Chrome/156.0.8078.79`."""
    keeps_secrets: bool = False
    packed: Mapping[str, bytes] = field(default_factory=dict)
    """The files under `extra/` as they are stored."""

    @property
    def extras(self) -> Sequence[str]:
        """Give the names of the files under `extra/`."""
        return sorted(self.packed)

    def extra(self, name: str) -> bytes:
        """Give a file under `extra/`, unpacked."""
        if name not in self.packed:
            raise InputError(f"{self.name}: has no {name}: record it again")
        data = self.packed[name]
        if not name.endswith(".zst"):
            return data
        try:
            text = _native.unzstd(data, MOST_BYTES)
        except LoadstoneError as error:
            raise InputError(f"{self.name}: {name}: {error.args[0]}: record it again") from None
        if len(text) > MOST_BYTES:
            raise InputError(
                f"{self.name}: {name}: more than {MOST_BYTES >> 20} MiB of text: record it again"
            )
        return text

    def with_extra(self, name: str, data: bytes) -> "Archive":
        """Give the recording with one more file under `extra/`, which is packed if its name says so."""
        stored = packed(data) if name.endswith(".zst") else data
        return replace(self, packed={**self.packed, name: stored})

    @classmethod
    def read(cls, path: str) -> "Archive":
        """Read a recording; whatever is wrong with it is an `InputError` of one line."""
        return _read(path)

    def write(self, out: BinaryIO) -> None:
        """Write it: the same recording is the same bytes."""
        _write(self, out)


def packed(data: bytes) -> bytes:
    """Compress a file for `extra/`."""
    import zstandard

    return zstandard.ZstdCompressor(level=9).compress(data)


# --- writing ---


def _write(archive: Archive, out: BinaryIO) -> None:
    from loadstone import __version__

    software = f"Loadstone {__version__}"
    records = warc.written(archive.exchanges, software)
    parts: dict[str, bytes] = {
        _WARC: records.warc,
        _INDEX: records.index,
        _BLOCKS: records.blocks,
        _PAGES: _page_list(archive.loads),
        **{name: archive.packed[name] for name in archive.extras},
    }
    package = {
        "profile": "data-package",
        "wacz_version": _WACZ,
        "software": software,
        "created": _moment(archive.loads[0].started),
        "mainPageUrl": archive.loads[0].url,
        "mainPageDate": _moment(archive.loads[0].started),
        "resources": [
            {
                # Each its own, as data packages want it.
                "name": name.replace("/", "-"),
                "path": name,
                "hash": f"sha256:{hashlib.sha256(data).hexdigest()}",
                "bytes": len(data),
            }
            for name, data in parts.items()
        ],
        "loadstone": {
            "version": VERSION,
            "browser": archive.browser,
            "keeps_secrets": archive.keeps_secrets,
            "loads": [asdict(one) for one in archive.loads],
        },
    }
    text = json.dumps(package, indent=2).encode()
    digest = {"path": _PACKAGE, "hash": f"sha256:{hashlib.sha256(text).hexdigest()}"}
    with zipfile.ZipFile(out, "w") as zipped:
        for name, data in {
            **parts,
            _PACKAGE: text,
            "datapackage-digest.json": json.dumps(digest).encode(),
        }.items():
            member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            member.create_system, member.external_attr = 3, 0o600 << 16
            zipped.writestr(member, data)


def _page_list(loads: Iterable[LoadNote]) -> bytes:
    lines: list[dict[str, Any]] = [{"format": "json-pages-1.0", "id": "pages", "title": "Recorded pages"}]
    known: set[str] = set()
    for one in loads:
        if one.url not in known:
            known.add(one.url)
            number = hashlib.sha256(one.url.encode()).hexdigest()[:16]
            title = one.title or one.url
            lines.append({"id": number, "url": one.url, "ts": _moment(one.started), "title": title})
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# --- reading ---


def _read(path: str) -> Archive:
    try:
        if Path(path).stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: longer than {MOST_BYTES >> 20} MiB: record fewer loads or pages")
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file: make it with 'loadstone record'") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{path}: cannot be read ({why.lower()})") from None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            parts = _members(path, zipped)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise InputError(f"{path}: no recording that can be read ({error}): record it again") from None
    return _archive(path, parts)


def _members(path: str, zipped: zipfile.ZipFile) -> dict[str, bytes]:
    """Read the files that the description lists, each with its digest; nothing else is looked at."""
    listed = zipped.infolist()
    if len(listed) > MOST_FILES:
        raise InputError(
            f"{path}: more than {MOST_FILES} files in it: give a recording of 'loadstone record'"
        )
    if len({one.filename for one in listed}) < len(listed):
        raise InputError(f"{path}: two files of one name in it: record it again")
    package = _description(path, _member(path, zipped, _PACKAGE, _MOST_DESCRIPTION))
    parts = {_PACKAGE: json.dumps(package["loadstone"]).encode()}
    total = 0
    for one in package["resources"]:
        name = one.get("path") if isinstance(one, dict) else None
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name == _PACKAGE or name in parts:
            raise InputError(f"{path}: lists a file that cannot be in it ({name!r}): record it again")
        parts[name] = _member(path, zipped, name, MOST_BYTES - total)
        total += len(parts[name])
        if one.get("hash") != f"sha256:{hashlib.sha256(parts[name]).hexdigest()}":
            raise InputError(f"{path}: {name} is not what was recorded (its digest differs): record it again")
    if _WARC not in parts:
        raise InputError(f"{path}: has no {_WARC}: record it again")
    return parts


def _member(path: str, zipped: zipfile.ZipFile, name: str, most: int) -> bytes:
    try:
        member = zipped.getinfo(name)
    except KeyError:
        raise InputError(f"{path}: has no {name}: give a recording of 'loadstone record'") from None
    with zipped.open(member) as file:
        # Not what the zip says of the length, which may be a lie.
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{path}: {name} is too long: record fewer loads or pages")
    return data


def _description(path: str, text: bytes) -> dict[str, Any]:
    try:
        package = json.loads(text)
        ours, resources = package["loadstone"], package["resources"]
        version = ours["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{path}: a WACZ that 'loadstone record' did not write: record the page with it"
        ) from None
    if version != VERSION or not isinstance(resources, list):
        raise InputError(f"{path}: has version {version!r}, this reads {VERSION}: record it again, or update")
    return {"loadstone": ours, "resources": resources}


def _archive(path: str, parts: dict[str, bytes]) -> Archive:
    ours = json.loads(parts[_PACKAGE])
    try:
        loads = [_note(one) for one in ours["loads"]]
        browser, keeps = str(ours["browser"]), bool(ours["keeps_secrets"])
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: its {_PACKAGE} is damaged: record it again") from None
    if not loads:
        raise InputError(f"{path}: has no load in it: record it again")
    extras = {name: data for name, data in parts.items() if name.startswith("extra/")}
    return Archive(path, loads, warc.read(path, parts[_WARC]), browser, keeps, extras)


def _note(said: Any) -> LoadNote:
    ratio = said.get("wall_per_cpu")
    return LoadNote(
        number=int(said["number"]),
        url=str(said["url"]),
        warm=bool(said["warm"]),
        started=float(said["started"]),
        onload_ms=None if said["onload_ms"] is None else float(said["onload_ms"]),
        ended=str(said["ended"]),
        title=str(said["title"]),
        main_frame=str(said["main_frame"]),
        lost=int(said["lost"]),
        wall_per_cpu=None if ratio is None else float(ratio),
        filmed=bool(said.get("filmed", False)),
    )
