"""Who runs a host: the known third parties, whose hosts often are of several domains."""

import csv
from functools import cache
from importlib import resources


@cache
def _by_domain() -> dict[str, str]:
    """Give each listed domain's entity; a domain that holds for all below it begins with a dot."""
    listed = resources.files("loadstone").joinpath("entities.csv").read_text(encoding="utf-8")
    rows = csv.reader(line for line in listed.splitlines() if not line.startswith("#"))
    return {domain.removeprefix("*"): name for name, domains in rows for domain in domains.split()}


def entity_of(host: str) -> str | None:
    """Say who runs a host, as listed in `entities.csv`: by its name, else by the nearest domain above it.

    A port does not count. `None` if nobody who is listed does.
    """
    known = _by_domain()
    name = host.partition(":")[0].lower()
    if name in known:
        return known[name]
    labels = name.split(".")
    above = ("." + ".".join(labels[at:]) for at in range(len(labels)))
    return next((known[domain] for domain in above if domain in known), None)
