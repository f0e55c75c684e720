"""Tables of who stands behind hosts: CSV, a name and its domains in each row, with comments behind `#`."""

import csv
from collections.abc import Iterable, Iterator, Mapping


def rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Give the rows of a table with their lines, from 1; comments and empty lines are none."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, next(csv.reader([line]))


def by_domain(named: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Give each domain's name; a domain that holds for all below it begins with a dot, `*.` in tables."""
    return {domain.lower().removeprefix("*"): name for name, domain in named}


def name_of(host: str, known: Mapping[str, str]) -> str | None:
    """Say who stands behind a host: by its name, else by the nearest domain above it.

    A port does not count. `None` if nobody who is listed does.
    """
    name = host.partition(":")[0].lower()
    if name in known:
        return known[name]
    labels = name.split(".")
    above = ("." + ".".join(labels[at:]) for at in range(len(labels)))
    return next((known[domain] for domain in above if domain in known), None)
