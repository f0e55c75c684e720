"""Files as a user names them: read whole, decompressed by what they are, up to a limit."""

import gzip
import io
import lzma
import os
import re
import secrets
import shlex
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, BinaryIO

from loadstone import _native
from loadstone._native import LoadstoneError

STANDARD = "-"
"""Standard input or output in the place of a file."""

LIMIT = 128 * 1024 * 1024
"""The most bytes that are read from a file, before and after decompression."""

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_XZ = b"\xfd7zX"
_ZIP = b"PK\x03\x04"
_PIECE = 1024 * 1024
_UTF8_MARK = b"\xef\xbb\xbf"


class InputError(Exception):
    """Something the user gave cannot be used. The message is one sentence with the remedy."""


class TooLargeError(InputError):
    """A file is larger than it may be."""


def read(path: str, limit: int | None = None) -> bytes:
    """Read the file, decompressed, without a byte order mark; at most `limit` bytes. `-` is standard input.

    It may be gzip, zstd, xz, or a zip file of one file. If `limit` is left out, it is `LIMIT`.
    """
    limit = LIMIT if limit is None else limit
    if path.endswith(".br"):
        raise InputError(f"{path}: Brotli is not read here: unpack it first: brotli -d {shlex.quote(path)}")
    try:
        with _opened(path, limit) as file:
            data = _gather(path, _pieces(path, file, limit), limit)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{path}: cannot be read ({why.lower()})") from None
    if data.isspace() or not data:
        raise InputError(f"{path}: the file is empty: write or export it again")
    return data.removeprefix(_UTF8_MARK)


def _opened(path: str, limit: int) -> BufferedReader:
    if path == STANDARD:
        # Read as a whole: a zip file's list is at its end.
        return BufferedReader(io.BytesIO(sys.stdin.buffer.read(limit + 1)))
    if stat.S_ISDIR(Path(path).stat().st_mode):
        raise InputError(f"{path}: this is a directory: give a file")
    return Path(path).open("rb")


def _pieces(path: str, file: BufferedReader, limit: int) -> Iterator[bytes]:
    magic = file.peek(len(_XZ))
    if magic.startswith(_GZIP):
        return _unpacked(path, "gzip", gzip.GzipFile(fileobj=file))
    if magic.startswith(_XZ):
        return _unpacked(path, "xz", lzma.LZMAFile(file))
    if magic.startswith(_ZIP):
        return _unpacked(path, "zip", _only_member(path, file))
    if magic.startswith(_ZSTD):
        return iter([_unzstd(path, file, limit)])
    return _plain(file)


def _gather(path: str, pieces: Iterator[bytes], limit: int) -> bytes:
    # Unlike other ways to put bytes together this one needs no second copy of them.
    data = io.BytesIO()
    for piece in pieces:
        data.write(piece)
        if data.tell() > limit:
            raise TooLargeError(f"{path}: more than {limit >> 20} MiB of text")
    return data.getvalue()


def _plain(file: BufferedReader) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


def _unpacked(path: str, kind: str, packed: IO[bytes] | io.BufferedIOBase) -> Iterator[bytes]:
    try:
        with packed as file:
            while piece := file.read(_PIECE):
                yield piece
    except EOFError:
        raise InputError(f"{path}: the {kind} file is cut short: copy or export it again") from None
    except (gzip.BadGzipFile, zipfile.BadZipFile, lzma.LZMAError, zlib.error):
        raise InputError(f"{path}: the {kind} file is damaged: copy or export it again") from None


def _only_member(path: str, file: BufferedReader) -> IO[bytes]:
    try:
        packed = zipfile.ZipFile(file)
        # What macOS adds is no file of the user's.
        found = [
            one for one in packed.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")
        ]
        if len(found) == 1:
            return packed.open(found[0])
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise InputError(f"{path}: the zip file cannot be unpacked here: {error}: unpack it first") from None
    raise InputError(f"{path}: {len(found)} files in one zip file: unpack it, and give the one that is meant")


def _unzstd(path: str, compressed: BufferedReader, limit: int) -> bytes:
    # Text that is larger once it is compressed is too large as well.
    data = compressed.read(limit + 1)
    try:
        return data if len(data) > limit else _native.unzstd(data, limit)
    except LoadstoneError as error:
        raise InputError(f"{path}: {error.args[0]}") from None


@dataclass(frozen=True)
class Kind:
    """What a file is that loadstone writes: it may be written again, and no other is written over."""

    name: str
    opening: bytes
    """How every one of them begins, as a regular expression."""

    def is_of(self, beginning: bytes) -> bool:
        """Say whether a file that begins so is one."""
        return re.match(self.opening, beginning) is not None


_BEGINNING = 4096
"""Bytes that tell what a file is."""


@contextmanager
def replacement(path: str | None, kind: Kind) -> Iterator[Callable[[str | bytes], None]]:
    """Give a function that makes a text, or bytes, the file's content, all of it at once or not at all.

    A file that cannot be written, or that is there and of another kind, is an error before anything else is
    done.
    """
    if path is None:
        yield lambda content: None
        return
    with _blame_write(path):
        target = Path(path).resolve()
        _refuse_to_replace(path, target, kind)
        temporary = target.with_name(f".loadstone-{secrets.token_hex(6)}.part")
        temporary.open("xb").close()
    try:

        def write(given: str | bytes) -> None:
            content = given.encode() if isinstance(given, str) else given
            assert kind.is_of(content[:_BEGINNING]), f"this is no {kind.name}"
            with _blame_write(path):
                temporary.write_bytes(content)
                temporary.replace(target)

        yield write
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def private_replacement(path: str, kind: Kind) -> Iterator[Callable[[Callable[[BinaryIO], None]], None]]:
    """Give a function that has the file written by another one, all of it or nothing, for its owner alone.

    A file that cannot be written is an error before anything else is done, as with `replacement`.
    """
    with _blame_write(path):
        target = Path(path).resolve()
        _refuse_to_replace(path, target, kind)
        temporary = target.with_name(f".loadstone-{secrets.token_hex(6)}.part")
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    try:

        def write(content: Callable[[BinaryIO], None]) -> None:
            with _blame_write(path):
                with temporary.open("r+b") as file:
                    content(file)
                temporary.replace(target)

        yield write
    finally:
        temporary.unlink(missing_ok=True)


def _refuse_to_replace(path: str, target: Path, kind: Kind) -> None:
    if target.is_dir():
        raise InputError(f"{path}: this is a directory: give a file")
    if target.exists() and not target.is_file():
        raise InputError(f"{path}: this is no ordinary file: give another name")
    if target.exists() and not os.access(target, os.W_OK):
        raise InputError(f"{path}: cannot be written (permission denied)")
    if target.exists():
        with target.open("rb") as file:
            beginning = file.read(_BEGINNING)
        if beginning and not kind.is_of(beginning):
            raise InputError(f"{path}: is there and no {kind.name}: give another name, or remove it first")
    if not target.parent.is_dir():
        raise InputError(f"{path}: there is no folder {target.parent}: make it first")


@contextmanager
def _blame_write(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{path}: cannot be written ({why.lower()})") from None
