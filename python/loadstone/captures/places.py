"""Where clients are: tables of networks that the user gives, by the longest prefix of an address.

A table is a CSV with a column `network` (`192.0.2.0/24`), as MaxMind's are, and others such as `country`,
`asn` or `access`; or RouteViews' list of prefixes, which has no header: address, length, number of the AS.
"""

import csv
import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from loadstone import files
from loadstone.files import InputError

_NETWORK = "network"
_ASN = "asn"
_BITS = {4: 32, 6: 128}


@dataclass
class Places:
    """What is known of networks."""

    columns: list[str] = field(default_factory=list)
    """What is known, by name."""
    _by_prefix: dict[tuple[int, int, int], dict[str, str]] = field(default_factory=dict)
    """By version, length and the bits of the prefix."""
    _lengths: dict[int, list[int]] = field(default_factory=lambda: {4: [], 6: []})

    @classmethod
    def read(cls, paths: Iterable[str]) -> "Places":
        """Read tables; where two say something of one network, both hold.

        Raises:
            InputError: with file and line, if a table has no networks.
        """
        places = cls()
        for path in paths:
            for line, network, known in _rows(path):
                places._add(path, line, network, known)
        for version in places._lengths:
            lengths = {length for of, length, _ in places._by_prefix if of == version}
            places._lengths[version] = sorted(lengths, reverse=True)
        return places

    def _add(self, path: str, line: int, network: str, known: dict[str, str]) -> None:
        try:
            parsed = ipaddress.ip_network(network, strict=False)
        except ValueError:
            raise InputError(f"{path}: line {line}: {network} is no network, such as 192.0.2.0/24") from None
        bits = int(parsed.network_address) >> (_BITS[parsed.version] - parsed.prefixlen)
        self._by_prefix.setdefault((parsed.version, parsed.prefixlen, bits), {}).update(known)
        self.columns.extend(name for name in known if name not in self.columns)

    def of(self, address: str) -> dict[str, str]:
        """Give what is known of an address; what a longer prefix says holds first."""
        parsed = ipaddress.ip_address(address)
        number, width = int(parsed), _BITS[parsed.version]
        known: dict[str, str] = {}
        for length in self._lengths[parsed.version]:
            if found := self._by_prefix.get((parsed.version, length, number >> (width - length))):
                known = found | known
                if len(known) == len(self.columns):
                    break
        return known


def _rows(path: str) -> Iterator[tuple[int, str, dict[str, str]]]:
    text = files.read(path).decode(errors="replace")
    lines = text.splitlines()
    first = lines[0]
    if "\t" in first and "," not in first and _NETWORK not in first.split("\t"):
        yield from _of_route_views(path, lines)
        return
    table = csv.DictReader(chain([first.lower()], lines[1:]))
    if _NETWORK not in (table.fieldnames or ()):
        raise InputError(
            f"{path}: line 1: there is no column {_NETWORK}, which has 192.0.2.0/24 and the like"
        )
    for row in table:
        network = row.pop(_NETWORK) or ""
        # Cells beyond the header have no name.
        yield table.line_num, network, {name: value for name, value in row.items() if name and value}


def _of_route_views(path: str, lines: list[str]) -> Iterator[tuple[int, str, dict[str, str]]]:
    for number, line in enumerate(lines, 1):
        parts = line.split("\t")
        if len(parts) != 3:
            raise InputError(f"{path}: line {number}: not an address, a length and the number of an AS")
        yield number, f"{parts[0]}/{parts[1]}", {_ASN: parts[2]}
