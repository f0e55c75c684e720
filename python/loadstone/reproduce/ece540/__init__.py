"""The study `ece540` run again: SPDY and HTTP for one page, of which only the shape can be compared."""

from loadstone.reproduce.ece540 import labs, shop, unknown, verdicts
from loadstone.reproduce.results import Passage, Results
from loadstone.reproduce.study import Runner


def run(runner: Runner) -> Results:
    """Run both laboratories, and a site with cold and warm cache."""
    found, gains, site = labs.measure(runner), unknown.measure(runner), shop.measure(runner)
    tables = (*(labs.table(lab, found[lab]) for lab in found), unknown.table(gains), shop.table(site))
    cells = (*labs.cells(found), *shop.cells(site))
    return Results(cells, tables, verdicts.judge(found, gains, site), [_why()])


def _why() -> Passage:
    text = (
        "One connection carries all requests at once, so SPDY pays few round trips and then fills the link. "
        "HTTP pays one for each object, six at a time: with hundreds of pictures at a long round trip the "
        "link stands idle. Few pictures or a short round trip, and there is nothing to gain."
    )
    return Passage("Why does SPDY gain?", text)
