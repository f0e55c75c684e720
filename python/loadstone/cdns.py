"""Which CDN a server belongs to, by a table of domains and networks: that of the user, or an example."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

from loadstone import domain_table, files
from loadstone.files import InputError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Cdns:
    """A table of CDNs."""

    by_domain: dict[str, str]
    by_network: list[tuple[Network, str]]
    """The longest prefixes first."""

    @classmethod
    def read(cls, path: str | None) -> "Cdns":
        """Read a table; without a path the example that comes with the package.

        Raises:
            InputError: with file and line, if a row is none.
        """
        if path is None:
            own = resources.files("loadstone").joinpath("cdns.csv")
            return cls._of("cdns.csv", own.read_text(encoding="utf-8"))
        return cls._of(path, files.read(path).decode(errors="replace"))

    @classmethod
    def _of(cls, path: str, text: str) -> "Cdns":
        domains: list[tuple[str, str]] = []
        networks: list[tuple[Network, str]] = []
        for line, row in domain_table.rows(text):
            if len(row) != 2 or not row[0].strip() or not row[1].strip():
                raise InputError(
                    f"{path}: line {line}: not a CDN and its domains or networks: write it like "
                    "Example,*.example.net 192.0.2.0/24"
                )
            name = row[0].strip()
            for each in row[1].split():
                if "/" not in each:
                    domains.append((name, each))
                    continue
                try:
                    networks.append((ipaddress.ip_network(each), name))
                except ValueError as error:
                    raise InputError(f"{path}: line {line}: {each} is no network: {error}") from None
        networks.sort(key=lambda known: -known[0].prefixlen)
        return cls(domain_table.by_domain(domains), networks)

    def of(self, host: str, addresses: Iterable[str] = ()) -> str | None:
        """Say which CDN a host belongs to: by its name, else by an address at which it was."""
        if (name := domain_table.name_of(host, self.by_domain)) is not None:
            return name
        return next((cdn for address in sorted(addresses) if (cdn := self._at(address)) is not None), None)

    def _at(self, address: str) -> str | None:
        try:
            parsed = ipaddress.ip_address(address.strip("[]"))
        except ValueError:
            return None
        return next((name for network, name in self.by_network if parsed in network), None)
