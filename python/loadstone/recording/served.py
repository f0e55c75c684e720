"""What can be served with its real bodies: recordings (.wacz), and folders of a site that was built."""

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any

from loadstone._native import LoadstoneError, RecordedSite
from loadstone._native import Page as NativePage
from loadstone.files import InputError
from loadstone.pages import Page

ARCHIVE = ".wacz"
SITE = "site.json"
"""In the folder of a built site: its responses, each with the file that has its body."""
_LISTED = 10
"""How many lines of a list are shown."""
_CODED = "content-encoding"
_NO_CODING = ("", "identity")
_FRAME, _FRAME_HEAD = 16_384, 9
"""Bytes of content in a frame, and before it (RFC 9113, sections 4.1 and 4.2)."""


@dataclass(frozen=True)
class ServedResponse:
    """A response for servers, as the engine takes it."""

    method: str
    url: str
    status: int
    fields: Sequence[tuple[bytes, bytes]]
    body: bytes
    """Decoded."""
    raw: bytes | None = None
    """With its content coding, where that is known."""
    wire_length: int | None = None
    """Bytes of the body with its content coding, where only that is known."""
    is_written: bool = False
    """How long its body is on the wire was not recorded: it is compressed as servers do."""
    any_query: bool = False
    """It answers its URL with any query."""
    think_ms: float = 0.0


@dataclass(frozen=True)
class ServedRecording:
    """Responses with their bodies, and what is known of where they come from."""

    name: str
    start: str
    """The page's URL."""
    responses: Sequence[ServedResponse]
    protocols: Mapping[str, str] = field(default_factory=dict)
    """What each host speaks by TLS."""
    served_by: Mapping[str, str] = field(default_factory=dict)
    """For a host the one that has its address and a certificate for both."""
    recorded_at: float | None = None
    """When it was recorded, in seconds since 1970."""
    notices: Sequence[str] = ()
    """What is not as it was, in lines."""

    def site(self) -> RecordedSite:
        """Make what servers have of it; compresses bodies, which takes its time."""
        try:
            return RecordedSite(self.responses)
        except LoadstoneError as error:
            raise InputError(f"{self.name}: {error.args[0]}") from None

    def page(self) -> Page:
        """Make a page of its hosts, for a bed to have them."""
        names = dict.fromkeys(_host(one.url) for one in self.responses)
        document = {
            "objects": [{"url": f"https://{name}/", "bytes": 0} for name in names],
            "hosts": {name: {"served_by": by} for name, by in self.served_by.items()},
        }
        notes = json.dumps({"protocols": dict(self.protocols)})
        try:
            return Page(self.name, NativePage(json.dumps(document).encode(), notes), self.name)
        except LoadstoneError as error:
            raise InputError(f"{self.name}: {error.args[0]}") from None


def has_bodies(name: str) -> bool:
    """Say whether a name is that of something with bodies."""
    return name.lower().endswith(ARCHIVE) or Path(name, SITE).is_file()


def read(names: Sequence[str]) -> ServedRecording:
    """Read what is to be served together; a URL that several have is the first one's."""
    if bare := [name for name in names if not has_bodies(name)]:
        raise InputError(f"{bare[0]}: has no bodies, other recordings here do: serve it without them")
    each = [_of_folder(name) if Path(name).is_dir() else _of_archive(name) for name in names]
    if len(each) == 1:
        return each[0]
    owners: dict[tuple[str, str], int] = {}
    responses: list[ServedResponse] = []
    protocols: dict[str, str] = {}
    served_by: dict[str, str] = {}
    for number, one in enumerate(each):
        kept = [own for own in one.responses if owners.setdefault((own.method, own.url), number) == number]
        responses += kept
        protocols = {**one.protocols, **protocols}
        # Where recordings differ in which host comes first, the first recording's word counts.
        if not {*one.served_by, *one.served_by.values()} & {*served_by, *served_by.values()}:
            served_by |= one.served_by
    times = [one.recorded_at for one in each if one.recorded_at is not None]
    notices = [line for one in each for line in one.notices]
    name = ", ".join(names)
    begun = next(iter(times), None)
    return ServedRecording(name, each[0].start, responses, protocols, served_by, begun, notices)


def _length(wire_bytes: int, protocol: str) -> int:
    """Give how many of a body's bytes on the wire are its own: h2 has frames around them, as long as this."""
    frames = -(-wire_bytes // (_FRAME + _FRAME_HEAD)) if protocol == "h2" else 0
    return max(wire_bytes - frames * _FRAME_HEAD, 0)


def _host(url: str) -> str:
    authority = url.partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2].lower()
    name, colon, port = authority.rpartition(":")
    return name if colon and port.isdecimal() else authority


def _pairs(fields: Sequence[Sequence[str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("utf-8", "replace"), value.encode("utf-8", "replace")) for name, value in fields]


# --- recordings ---


def _of_archive(name: str) -> ServedRecording:
    from loadstone.recording.archive import Archive

    return of_archive(Archive.read(name))


def of_archive(archive: Any) -> ServedRecording:
    """Serve a recording: of each URL the responses of the first load that has it."""
    from loadstone.recording import thinking
    from loadstone.recording.exchange import BodyState

    thought = thinking.of_archive(archive)
    first_loads: dict[tuple[str, str], int] = {}
    responses: list[ServedResponse] = []
    protocols: dict[str, str] = {}
    missing = 0
    for one in archive.exchanges:
        if not one.url.startswith(("https://", "http://")) or one.status < 200 or one.status == 304:
            continue
        if first_loads.setdefault((one.method, one.url), one.load) != one.load:
            continue
        missing += one.body_state in (BodyState.MISSING, BodyState.CUT)
        coding = (one.response_field(_CODED) or "").strip().lower()
        is_coded = coding not in _NO_CODING
        responses.append(
            ServedResponse(
                one.method,
                one.url,
                one.status,
                _pairs(one.response_fields),
                one.body,
                one.raw if is_coded else None,
                _length(one.wire_bytes or 0, one.protocol) or None if is_coded else None,
                is_written=is_coded and not one.wire_bytes,
                think_ms=thought.get((one.load, one.request, one.method, one.url), 0.0),
            )
        )
        if one.url.startswith("https://"):
            protocols.setdefault(_host(one.url), one.protocol)
    if not responses:
        raise InputError(f"{archive.name}: has no response that can be served: record the page again")
    begun = archive.loads[0]
    notices = [f"{archive.name}: {missing} bodies were not recorded whole"] if missing else []
    served_by = _served_by(archive)
    return ServedRecording(archive.name, begun.url, responses, protocols, served_by, begun.started, notices)


def _served_by(archive: Any) -> dict[str, str]:
    """Say which hosts came on connections of others, by the first load."""
    from loadstone.recording.archive import HAR

    if HAR not in archive.extras:
        return {}
    try:
        page = NativePage.from_har(archive.extra(HAR), 1)
    except LoadstoneError:
        # What is no page can be served all the same.
        return {}
    hosts = json.loads(page.to_json()).get("hosts", {})
    served_by = {name: one["served_by"] for name, one in hosts.items() if "served_by" in one}
    return {_host(f"https://{name}"): _host(f"https://{by}") for name, by in served_by.items()}


# --- folders of built sites ---


def _of_folder(name: str) -> ServedRecording:
    path = Path(name, SITE)
    try:
        document = json.loads(path.read_bytes())
        responses = [_written(Path(name), one) for one in document["responses"]]
        start = str(document["start"])
        served_by = {str(host): str(by) for host, by in document.get("served_by", {}).items()}
        spoken = {str(host): str(protocol) for host, protocol in document.get("protocols", {}).items()}
    except FileNotFoundError as error:
        raise InputError(f"{path}: {error.filename} is not there: build the site again") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: no description of a site ({error!r}): build the site again") from None
    if not responses:
        raise InputError(f"{path}: has no responses: build the site again")
    # A client that has only the server's address means the page's host.
    responses.sort(key=lambda one: one.url != start)
    secure = [_host(one.url) for one in responses if one.url.startswith("https://")]
    return ServedRecording(name, start, responses, {**dict.fromkeys(secure, "h2"), **spoken}, served_by)


def _written(folder: Path, one: Mapping[str, Any]) -> ServedResponse:
    sent = b"" if one.get("file") is None else (folder / one["file"]).read_bytes()
    stated = one.get("fields", [])
    is_dated = any(str(name).lower() == "date" for name, _ in stated)
    fields = _pairs(stated if is_dated else [*stated, ("date", formatdate(usegmt=True))])
    codings = [value.strip().lower() for field_name, value in fields if field_name.lower() == _CODED.encode()]
    is_coded = bool(codings) and codings[0].decode("ascii", "replace") not in _NO_CODING
    return ServedResponse(
        method=str(one.get("method", "GET")),
        url=str(one["url"]),
        status=int(one.get("status", 200)),
        fields=fields,
        body=_decoded(sent, codings[0]) if is_coded else sent,
        raw=sent if is_coded else None,
        is_written=not is_coded,
        any_query=bool(one.get("any_query", False)),
        think_ms=float(one.get("think_ms", 0.0)),
    )


def _decoded(sent: bytes, coding: bytes) -> bytes:
    if coding != b"gzip":
        raise ValueError("only gzip is decoded here: write files as they are, servers compress text")
    try:
        return gzip.decompress(sent)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from None


# --- what is said at the end ---


def report(site: RecordedSite) -> dict[str, Any]:
    """Say how requests were matched with what was recorded."""
    said: dict[str, Any] = json.loads(site.report_json())
    return said


def in_words(said: Mapping[str, Any]) -> list[str]:
    """Say it in lines, if there is something to say: nothing if all was recorded."""
    lines = []
    asked = said["exact"] + said["by_query"] + said["by_shape"] + said["unmatched"]
    if asked > said["exact"]:
        counts = (
            f"{said['exact']} as recorded",
            f"{said['by_query']} by the likest query",
            f"{said['by_shape']} by the shape of the path",
            f"{said['unmatched']} not recorded",
        )
        lines.append(f"{asked} requests: {', '.join(counts)}")
    lines += _some([f"not recorded: {line}" for line in said["not_recorded"]])
    longer = [
        f"longer than recorded: {one['request']} ({one['sent_bytes']} bytes for {one['recorded_bytes']})"
        for one in said["longer"]
    ]
    return lines + _some(longer)


def _some(lines: list[str]) -> list[str]:
    more = len(lines) - _LISTED
    return lines if more <= 0 else [*lines[:_LISTED], f"and {more} more"]
