"""Files that tell of connections in place of packets: how they are known, and the addresses in them."""

import ipaddress
from collections.abc import Callable, Sequence
from pathlib import Path

from loadstone.files import STANDARD, InputError

_BEGINNING = 4096
"""Bytes that tell what a file is."""


def are(paths: Sequence[str], is_told: Callable[[bytes], bool], what: str) -> bool:
    """Say whether files begin as such files do, and are no captures; `what` they are is said in the error.

    Raises:
        InputError: if some are and others are not.
    """
    told = [path for path in paths if path != STANDARD and is_told(_beginning(path))]
    if told and len(told) < len(paths):
        raise InputError(f"{told[0]}: {what}, and other files are captures: read them apart")
    return bool(told)


def _beginning(path: str) -> bytes:
    """Give the beginning of a file; nothing if it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(_BEGINNING)
    except OSError:
        return b""


def address(said: str) -> str:
    """Give an address as captures have it.

    Raises:
        ValueError: if it is none.
    """
    known = ipaddress.ip_address(said)
    mapped = known.ipv4_mapped if isinstance(known, ipaddress.IPv6Address) else None
    return str(mapped or known)
