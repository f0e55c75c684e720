"""What was assumed, and what explains the results: by accounts, and by what loss does to which objects."""

import numpy as np
import polars as pl

from loadstone.analysis.question import spelled
from loadstone.reproduce.study import Passage, Table
from loadstone.stores.rows import ACCOUNT

from .laboratory import HTTP, SPDY
from .synthetic import Synthetic

_ASSUMED = """The study says nothing of the queue, of the directions of loss, and of what its own
clients send. Here the queue has the 50 slots that Dummynet has unless it is told
otherwise, packets are lost in both directions, a request has 400 bytes and a response's
head 250, and the server program does not think.

The queue matters most. With 50 slots six first windows of HTTP overflow it where one of SPDY does not,
which is what the study found of large windows in good networks; with a queue in ms or of 100 packets
most of that is gone. TCP+ is the other way: sixty segments at once overflow 50 slots.

Loss on the way up hardly matters: acknowledgements are cumulative."""

_LOSS = """By itself loss explains next to nothing of the variance of the gain, because it turns with
the size of the objects: it makes SPDY faster still on small objects, whose responses over
HTTP are single packets that only a timeout repairs, and slower on large ones, where every
loss takes 30 % of its only window. What factors do together counts in a tree and in the
total effect, and there loss is ahead of round trip, rate and window."""

_ACCOUNT = """With the objects alone, HTTP's loads wait for a free connection, and SPDY's for its one
window to open. With dependencies fewer objects wait at a time, so there is less of
either, and both protocols spend time on computing that neither can save: over long round
trips SPDY then saves a smaller part of the load time. Means over pages, without loss, from the first
packet on."""


def passages(swept: Synthetic, whole: pl.DataFrame, assumptions: Table) -> list[Passage]:
    """Give the explanations; `whole` are the cells of pages with and without dependencies."""
    return [
        Passage("What had to be assumed, and how much depends on it", _joined(_ASSUMED), [assumptions]),
        Passage("Why loss explains so little by itself", _joined(_LOSS), [_by_size_and_loss(swept)]),
        Passage("Where the time goes", _joined(_ACCOUNT), [_accounts(whole)]),
        Passage("How long the study must have taken", _days(swept)),
    ]


def _joined(paragraphs: str) -> str:
    return "\n\n".join(" ".join(each.split("\n")) for each in paragraphs.split("\n\n"))


def _by_size_and_loss(swept: Synthetic) -> Table:
    ratios = swept.ratios(SPDY)
    sizes, losses = (swept.question.factors[name] for name in ("size", "loss"))
    rows = []
    for size in sizes:
        each = (ratios.filter(size=size).filter(pl.col("loss") == loss)["ratio"] for loss in losses)
        rows.append([spelled(size), *(f"{float(np.median(part)):.2f}" for part in each)])
    head = ["object size", *(f"{spelled(loss)} % loss" for loss in losses)]
    return Table("size-and-loss", "What does loss do to which objects? (median ratio)", head, rows)


def _accounts(whole: pl.DataFrame) -> Table:
    rows = []
    shown = whole.filter(pl.col("loss") == 0, pl.col("rate") == 10, pl.col("rtt").is_in([20, 200]))
    for form, what in (("set", "objects alone"), ("graph", "whole pages")):
        for rtt in (20, 200):
            for variant in (HTTP, SPDY):
                cells = shown.filter(form=form, variant=variant).filter(pl.col("rtt") == rtt)
                parts = [float(np.mean(cells[name].to_numpy())) for name in ACCOUNT.values()]
                rows.append([what, variant, str(rtt), *(f"{ms:,.0f}" for ms in (sum(parts), *parts))])
    names = [name.replace("_", " ") for name in ACCOUNT]
    return Table(
        "accounts",
        "Where does the time go? (ms, 10 Mbit/s)",
        ["page", "variant", "RTT", "all", *names],
        rows,
        2,
    )


def _days(swept: Synthetic) -> str:
    both = swept.cells.filter(pl.col("variant").is_in([HTTP, SPDY]))
    largest = both.filter(pl.col("size") == swept.question.factors["size"][-1])
    all_ms, largest_ms = (cells["plt_ms"].to_numpy().sum() for cells in (both, largest))
    return (
        f"By these load times the sweep of both protocols takes {5 * all_ms / 86_400_000:.0f} days, one "
        f"load after the other, {largest_ms / all_ms:.0%} of it for objects of 1 MB. The study says that "
        "its loads were made from June to September 2013."
    )
