"""What the authors could not explain, by the accounts of the loads: where the time went."""

from dataclasses import replace

import polars as pl

from loadstone.account import PARTS
from loadstone.reproduce.cablelabs import page_c
from loadstone.reproduce.cablelabs.laboratory import BASE, BROWSER_MS, FACTORS, SPDY, Laboratory
from loadstone.reproduce.results import Passage, Table
from loadstone.reproduce.study import Runner


def passages(found: Laboratory, runner: Runner) -> list[Passage]:
    """Explain what stands out."""
    return [_why_c_is_slower(found, runner), _why_loss_hurts(found), _why_a_gains(found)]


def _why_c_is_slower(found: Laboratory, runner: Runner) -> Passage:
    rows = [("C", servers, rate, rtt, 0) for servers in (1, 2) for rate in (10, 20) for rtt in (20, 100)]
    made = page_c.passage(page_c.measure(found, runner))
    return replace(made, tables=[*made.tables, _accounts(found, rows)])


def _why_loss_hurts(found: Laboratory) -> Passage:
    text = (
        "Each loss shrinks the only window that SPDY has, and HTTPS's one of six. Linux adds to that what "
        "the study does not mention: it remembers the threshold of earlier connections to the same client "
        "(tcp_no_metrics_save is 0 as it comes). After some loads with loss a new connection leaves slow "
        "start at some segments. Objects that fit into the first windows do not notice; three megabytes "
        "over one connection take a third longer. Without that memory ours would take 23 s where the "
        "study has 31 to 33."
    )
    rows = [(page, 1, 10, rtt, 1) for page in "BC" for rtt in (20, 100)]
    return Passage("Why does 1 % loss cost SPDY so much?", text, [_accounts(found, rows)])


def _why_a_gains(found: Laboratory) -> Passage:
    text = (
        "102 objects over six connections are 17 rounds. The study's time over HTTPS grows by 73 ms for "
        "each ms of round trip: four round trips for each round, and five for the document. That is TCP's "
        "handshake, TLS's with False Start, the request, and what Nagle's algorithm holds back: its "
        "server kept no connection alive. SPDY opens one connection and asks for everything at once, so "
        "it saves nearly all of that.\n\n"
        "With two and four servers the study's SPDY suddenly grows by 41 and 29 ms for each ms, more than "
        "with one server. There the browser had no session when it found the objects: each of them opened "
        "a connection of its own, six at a time, before it could join the session. That is why the gain "
        "shrinks with more servers."
    )
    rows = [("A", servers, 10, 100, 0) for servers in (1, 2, 4)]
    return Passage("Why does page A gain most on one server?", text, [_accounts(found, rows)])


def _accounts(found: Laboratory, chosen: list[tuple[str, int, int, int, int]]) -> Table:
    """Show the parts of mean accounts: HTTPS, SPDY."""
    means = found.runs.group_by([*FACTORS, "option"]).agg(
        pl.col("plt_ms").median(), *(pl.col(f"{part}_ms").mean() for part in PARTS)
    )
    known = {row[:6]: row[6:] for row in means.iter_rows()}
    rows = []
    for at in chosen:
        https, spdy = known[*at, BASE], known[*at, SPDY]
        parts = [f"{one:,.0f}, {other:,.0f}" for one, other in zip(https, spdy, strict=True)]
        rows.append([at[0], *(f"{level}" for level in at[1:]), *parts])
    head = [*FACTORS, "load time (HTTPS, SPDY)", *(part.label.lower() for part in PARTS.values())]
    note = f"In ms: median load times, with the browser's {BROWSER_MS} ms, and means of the accounts' parts."
    return Table("accounts", "Where did the time go?", head, rows, 5, note)
