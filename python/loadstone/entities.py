"""Who runs a host: the known third parties, whose hosts often are of several domains."""

from functools import cache
from importlib import resources

from loadstone import domain_table


@cache
def _by_domain() -> dict[str, str]:
    """Give each listed domain's entity."""
    listed = resources.files("loadstone").joinpath("entities.csv").read_text(encoding="utf-8")
    entities = domain_table.rows(listed)
    return domain_table.by_domain(
        (name, domain) for _, (name, domains) in entities for domain in domains.split()
    )


def entity_of(host: str) -> str | None:
    """Say who runs a host, as listed in `entities.csv`; `None` if nobody who is listed does."""
    return domain_table.name_of(host, _by_domain())
