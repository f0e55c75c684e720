"""Exchanges as records of a WARC 1.1, by warcio, and back; with the index (CDXJ) for players.

A response is written without its codings, as browsers see it: what its head said of coding and length is kept
in fields with `x-orig-` before their names, as other recorders in browsers do. What only we know of an
exchange is in the field `WARC-JSON-Metadata`, under `loadstone`.
"""

import gzip
import hashlib
import io
import json
import re
import uuid
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http import client
from operator import itemgetter
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from loadstone.files import InputError
from loadstone.recording.exchange import BodyState, Fields, RecordedExchange

FILE = "data.warc.gz"
MOST_BYTES = 1 << 30
"""Of all records together, unpacked."""
MOST_RECORDS = 1_000_000
_ORIGINAL = "x-orig-"
_CODINGS = {"content-encoding", "transfer-encoding", "content-length"}
_SPACE = uuid.UUID("5a3c8f42-4a5e-4b0e-9d4c-0c8f6f1e7b11")
"""Makes the numbers of records, which are the same for the same exchange."""


@dataclass(frozen=True)
class Written:
    """A WARC and its index."""

    warc: bytes
    index: bytes
    blocks: bytes
    """Where the blocks of the index are."""


def written(exchanges: Iterable[RecordedExchange], software: str) -> Written:
    """Write exchanges in their order, each response first; equal bodies of one URL are there once."""
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True, warc_version="1.1")
    writer.write_record(_info(writer, software))
    lines: list[str] = []
    known: dict[tuple[str, str], str] = {}
    for number, one in enumerate(exchanges):
        begins = out.tell()
        digest = _digest(one.body)
        date = _date(one.started)
        same = known.get((one.url, digest)) if one.body else None
        known.setdefault((one.url, digest), date)
        writer.write_record(_response(writer, one, number, digest, same))
        lines.append(_index_line(one, digest, begins, out.tell() - begins, revisit=same is not None))
        writer.write_record(_request(writer, one, number))
    return Written(out.getvalue(), *_index(lines))


def _info(writer: WARCWriter, software: str) -> Any:
    body = f"software: {software}\r\nformat: WARC File Format 1.1\r\n".encode()
    headers = {"WARC-Record-ID": _number("warcinfo", software), "WARC-Date": "1980-01-01T00:00:00Z"}
    return writer.create_warc_record(
        "", "warcinfo", payload=io.BytesIO(body), length=len(body),
        warc_content_type="application/warc-fields", warc_headers_dict=headers,
    )  # fmt: skip


def _response(writer: WARCWriter, one: RecordedExchange, number: int, digest: str, same: str | None) -> Any:
    fields = [(_original(name), value) for name, value in _lines(one.response_fields)]
    fields.append(("content-length", str(len(one.body))))
    head = StatusAndHeaders(
        f"{one.status} {client.responses.get(one.status, 'Unknown')}", fields, protocol="HTTP/1.1"
    )
    told = {
        "load": one.load, "request": one.request, "frame": one.frame, "body": one.body_state.value,
        "wire_bytes": one.wire_bytes, "protocol": one.protocol, "type": one.resource_type,
    }  # fmt: skip
    headers = {
        "WARC-Record-ID": _number("response", number, one.url),
        "WARC-Date": _date(one.started),
        "WARC-Payload-Digest": digest,
        "WARC-Resource-Type": one.resource_type.lower(),
        "WARC-JSON-Metadata": json.dumps({"loadstone": told}),
    }
    if one.address:
        headers["WARC-IP-Address"] = one.address
    if same is None:
        return writer.create_warc_record(
            _uri(one.url), "response", payload=io.BytesIO(one.body), length=len(one.body),
            http_headers=head, warc_headers_dict=headers,
        )  # fmt: skip
    headers["WARC-Profile"] = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    headers |= {"WARC-Refers-To-Target-URI": _uri(one.url), "WARC-Refers-To-Date": same}
    return writer.create_warc_record(_uri(one.url), "revisit", http_headers=head, warc_headers_dict=headers)


def _request(writer: WARCWriter, one: RecordedExchange, number: int) -> Any:
    parts = urlsplit(one.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    head = StatusAndHeaders(
        f"{one.method} {_uri(target)} HTTP/1.1", [*_lines(one.request_fields)], is_http_request=True
    )
    headers = {
        "WARC-Record-ID": _number("request", number, one.url),
        "WARC-Concurrent-To": _number("response", number, one.url),
        "WARC-Date": _date(one.started),
    }
    return writer.create_warc_record(
        _uri(one.url), "request", payload=io.BytesIO(one.request_body), length=len(one.request_body),
        http_headers=head, warc_headers_dict=headers,
    )  # fmt: skip


def _lines(fields: Fields) -> Iterator[tuple[str, str]]:
    """Give fields that are one line each, and no pseudo-header fields."""
    for name, value in fields:
        if name and not name.startswith(":"):
            yield name, " ".join(value.split("\r\n")).replace("\n", " ").replace("\r", " ")


def _original(name: str) -> str:
    return _ORIGINAL + name if name.lower() in _CODINGS else name


def _uri(url: str) -> str:
    return url.encode("ascii", "backslashreplace").decode().replace(" ", "%20")


def _digest(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def _number(*parts: object) -> str:
    return f"<urn:uuid:{uuid.uuid5(_SPACE, ' '.join(map(str, parts)))}>"


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# --- the index ---

INDEX = "index.cdx.gz"
_BLOCK = 3000
"""Lines of the index that are compressed together."""


def _index(lines: Iterable[str]) -> tuple[bytes, bytes]:
    """Give the index in compressed blocks (ZipNum), and the list of these."""
    ordered = sorted(lines)
    blocks = bytearray()
    told = [_index_entry("!meta", "0", {"format": "cdxj-gzip-1.0", "filename": INDEX})]
    for at in range(0, len(ordered), _BLOCK):
        several = ordered[at : at + _BLOCK]
        block = gzip.compress("".join(several).encode(), mtime=0)
        place = {"offset": len(blocks), "length": len(block), "digest": _digest(block)}
        key, moment, _ = several[0].split(" ", 2)
        told.append(_index_entry(key, moment, place))
        blocks += block
    return bytes(blocks), "".join(told).encode()


def _index_line(one: RecordedExchange, digest: str, begins: int, length: int, *, revisit: bool) -> str:
    moment = datetime.fromtimestamp(one.started, UTC).strftime("%Y%m%d%H%M%S")
    mime = (one.response_field("content-type") or "").partition(";")[0].strip()
    told: dict[str, Any] = {
        "url": _uri(one.url), "mime": "warc/revisit" if revisit else mime, "status": str(one.status),
        "digest": digest, "length": str(length), "offset": str(begins), "filename": FILE,
    }  # fmt: skip
    if one.method != "GET":
        told["method"] = one.method
    return _index_entry(_sortable(one.url), moment, told)


def _index_entry(key: str, moment: str, told: dict[str, Any]) -> str:
    return f"{key} {moment} {json.dumps(told)}\n"


def _sortable(url: str) -> str:
    """Give a URL as players look it up (SURT): small, the host's labels from the last to the first."""
    parts = urlsplit(re.sub(r"^(https?://)www\d*\.", r"\1", _uri(url).lower()))
    host = ",".join(reversed((parts.hostname or "").split(".")))
    port = re.search(r":(?!(?:80|443)$)\d+$", parts.netloc)
    pairs = sorted(parse_qsl(parts.query, keep_blank_values=True), key=itemgetter(0))
    query = f"?{urlencode(pairs)}" if pairs else ""
    return f"{host}{port[0] if port else ''}){parts.path or '/'}{query}".replace(" ", "%20")


# --- reading ---


def read(name: str, data: bytes) -> list[RecordedExchange]:
    """Read the exchanges of a WARC that is compressed record by record, in their order."""
    records = unpacked(name, data)
    try:
        return _exchanges(name, records)
    except InputError:
        raise
    except Exception as error:  # warcio has no errors of its own for all that can be wrong
        raise InputError(f"{name}: its WARC is damaged ({error}): record it again") from None


def unpacked(name: str, data: bytes, most: int = MOST_BYTES) -> bytes:
    """Unpack gzip members one after another, up to a limit."""
    out, rest = io.BytesIO(), data
    while rest:
        member = zlib.decompressobj(zlib.MAX_WBITS + 16)
        try:
            out.write(member.decompress(rest, most + 1 - out.tell()))
        except zlib.error:
            raise InputError(f"{name}: its WARC is damaged: record it again") from None
        if out.tell() > most:
            raise InputError(f"{name}: its WARC is longer than {most >> 20} MiB: record fewer loads or pages")
        if not member.eof:
            raise InputError(f"{name}: its WARC is cut short: record it again")
        rest = member.unused_data
    return out.getvalue()


def _exchanges(name: str, data: bytes) -> list[RecordedExchange]:
    answers: dict[str, dict[str, Any]] = {}
    bodies: dict[tuple[str, str], bytes] = {}
    for count, record in enumerate(ArchiveIterator(io.BytesIO(data))):
        if count > MOST_RECORDS:
            raise InputError(f"{name}: its WARC has more than {MOST_RECORDS} records: record fewer loads")
        headers = record.rec_headers
        body = record.raw_stream.read() if record.rec_type != "warcinfo" else b""
        url, number = headers.get_header("WARC-Target-URI"), headers.get_header("WARC-Record-ID")
        if record.rec_type in ("response", "revisit"):
            digest = headers.get_header("WARC-Payload-Digest")
            if record.rec_type == "response":
                bodies[url, digest] = body
            answers[number] = {"record": record, "body": bodies[url, digest], "url": url}
        elif record.rec_type == "request":
            answers[headers.get_header("WARC-Concurrent-To")] |= {"request": record, "sent": body}
    return [_exchange(one) for one in answers.values()]


def _exchange(one: dict[str, Any]) -> RecordedExchange:
    record, body = one["record"], one["body"]
    headers, head = record.rec_headers, record.http_headers
    told = json.loads(headers.get_header("WARC-JSON-Metadata") or "{}").get("loadstone", {})
    asked = one["request"].http_headers
    fields = _as_they_came(head.headers)
    coded = next((value for name, value in fields if name.lower() == "content-encoding"), "identity")
    state = BodyState(told.get("body", BodyState.WHOLE.value))
    is_raw = coded.strip().lower() in ("", "identity") and state in (BodyState.WHOLE, BodyState.AGAIN)
    return RecordedExchange(
        url=str(one["url"]),
        method=str(asked.protocol),
        request_fields=tuple((str(name), str(value)) for name, value in asked.headers),
        request_body=one["sent"],
        status=int(head.get_statuscode()),
        response_fields=fields,
        body=body,
        body_state=state,
        wire_bytes=None if told.get("wire_bytes") is None else int(told["wire_bytes"]),
        raw=body if is_raw else None,
        resource_type=str(told.get("type", "Other")),
        frame=str(told.get("frame", "")),
        load=int(told.get("load", 1)),
        request=str(told.get("request", "")),
        protocol=str(told.get("protocol", "http/1.1")),
        address=str(headers.get_header("WARC-IP-Address") or ""),
        started=datetime.fromisoformat(headers.get_header("WARC-Date")).timestamp(),
    )


def _as_they_came(fields: list[tuple[str, str]]) -> Fields:
    """Give a head as it was, with its own words of coding and length in the place of ours."""
    kept = [
        (str(name).removeprefix(_ORIGINAL), str(value))
        for name, value in fields
        if str(name).lower() not in _CODINGS
    ]
    return tuple(kept)
