"""Findings that were kept, to be held against new ones: by the same engine, on the same terms."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from loadstone import files
from loadstone.engine import engine
from loadstone.files import InputError
from loadstone.gate.findings import Findings, NetworkFindings
from loadstone.gate.terms import REMEDY, Terms, listed


@dataclass(frozen=True)
class Earlier:
    """What an earlier comparison found."""

    path: str
    findings: Findings

    @classmethod
    def read(cls, path: str, now: Mapping[str, Mapping[str, Terms]]) -> "Earlier":
        """Read a document that `compare --json` wrote; `now` is what will be held against it.

        Raises `InputError` if that cannot be: nothing has to be run to know.
        """
        data = files.read(path)
        try:
            found = Findings.of(json.loads(data))
        except (ValueError, OverflowError, RecursionError):
            raise InputError(f"{path}: no document of 'loadstone compare --json': {REMEDY}") from None
        if found.engine != engine():
            why = f"written by loadstone {found.engine}, and figures of {engine()} may be others"
            raise InputError(f"{path}: {why}: {REMEDY}")
        earlier = cls(path, found)
        for page, networks in now.items():
            earlier._refuse_difference(page, earlier.page(page, len(now)), networks)
        return earlier

    def page(self, name: str, of: int) -> dict[str, NetworkFindings]:
        """Give what was found of that page, one of `of`; where there is one each, names do not matter."""
        pages = self.findings.pages
        if name in pages:
            return pages[name]
        if len(pages) == of == 1:
            return next(iter(pages.values()))
        raise InputError(f"{self.path}: has no page '{name}', only {listed(pages)}: {REMEDY}")

    def _refuse_difference(
        self, page: str, then: Mapping[str, NetworkFindings], now: Mapping[str, Terms]
    ) -> None:
        if set(then) != set(now):
            raise InputError(
                f"{self.path}: {page} was loaded on {listed(then)} and is now on {listed(now)}: "
                f"give the same networks, or {REMEDY}"
            )
        for network, terms in now.items():
            if difference := terms.difference(Terms.of_findings(then[network])):
                raise InputError(f"{self.path}: {page} on {network}: {difference}")
