"""The study `ece540` run again: SPDY and HTTP for one page, of which only the shape can be compared."""

from loadstone.reproduce.study import Passage, Results, Runner

from . import claims, laboratory, sensitivity


def run(runner: Runner) -> Results:
    """Run both laboratories, and a site with cold and warm cache."""
    found, gains, site = (
        laboratory.measure(runner),
        sensitivity.measure(runner),
        laboratory.measure_shop(runner),
    )
    tables = (
        *(laboratory.table(lab, found[lab]) for lab in found),
        sensitivity.table(gains),
        laboratory.shop_table(site),
    )
    cells = (*laboratory.cells(found), *laboratory.shop_cells(site))
    return Results(cells, tables, claims.judge(runner), [_why()])


def _why() -> Passage:
    text = (
        "One connection carries all requests at once, so SPDY pays few round trips and then fills the link. "
        "HTTP pays one for each object, six at a time: with hundreds of pictures at a long round trip the "
        "link stands idle. Few pictures or a short round trip, and there is nothing to gain."
    )
    return Passage("Why does SPDY gain?", text)
