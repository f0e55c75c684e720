"""Why the figures of the study `cmu` come out as they do, by accounts and by loads under other rules."""

import statistics
from typing import Any

from loadstone import experiment, pages, text
from loadstone._native import Scenario
from loadstone.account import PARTS
from loadstone.reproduce.study import Passage, Table

from .assumptions import AS_IT_IS
from .laboratory import CONDITIONS, HTTP, HTTPS, LOSSES, SITES, Laboratory, Site, home_page, scenario

_KEPT_FOR = (1, 2, 4, 8, 16, 0)
"""After how many requests a server closes a connection; 0: never."""


def passages(laboratory: Laboratory) -> list[Passage]:
    """Explain what came out."""
    return [_where_time_goes(laboratory), _what_would_cost_as_much(laboratory), _what_was_printed()]


def _where_time_goes(laboratory: Laboratory) -> Passage:
    made = {site.name: pages.of_document(home_page(site)) for site in SITES}
    lines = []
    for condition in CONDITIONS:
        outcomes = laboratory.runner.outcomes([(scenario(page, condition, "0"), 1) for page in made.values()])
        accounts = [account for outcome in outcomes if (account := outcome.account())]
        mean = [sum(account[part] for account in accounts) / len(accounts) for part in PARTS]
        lines.append([condition, *(f"{ms:,.0f} ms" for ms in mean)])
    head = ["", *(part.replace("_", " ") for part in PARTS)]
    table = Table(
        "accounts", "Where does the time go?", head, lines, 1, "Means over 25 sites, no loss, one seed."
    )
    said = (
        "At 1 Mbit/s nearly all of the time is bytes: a home page of 797 KB, the mean of the 25, takes 6.4 "
        "s at least. Protocols can change only the rest. Six connections keep such a link full, so HTTP "
        "loses little to its round trips, and TLS on six connections at once costs one round trip with "
        "False Start and the bytes of certificates and records. So here the Flip server costs a few "
        "percent, not eleven or fifteen, and there is less for SPDY to win back.\n\n"
        "The study's loads take 1.2 times as long as ours. Its browser computes and paints, and the "
        "document load time includes that; made pages have no scripts."
    )
    return Passage("Why is there less to gain?", said, [table])


def _what_would_cost_as_much(laboratory: Laboratory) -> Passage:
    straight = _means(laboratory, HTTP, 0)
    lines = [["HTTP straight", *(f"{ms:,.0f} ms" for ms in straight)]]
    for most in _KEPT_FOR:
        found = zip(_means(laboratory, HTTPS, most), straight, strict=True)
        name = f"closed after {text.count(most, 'request')}" if most else "kept"
        lines.append([name, *(f"{ms:,.0f} ms ({100 * (ms / own - 1):+.1f} %)" for ms, own in found)])
    head = ["connections of HTTP by TLS", *(f"loss {loss} %" for loss in LOSSES)]
    note = (
        "A server with TLS in the place of the Flip server, which closes connections after so many requests."
    )
    table = Table("kept-connections", "How long would Flip keep a connection?", head, lines, 1, note)
    said = (
        'The study holds TLS for the cause ("primarily due to the fact that the Flip Server uses SSL"). '
        "On six connections that are kept TLS costs too little for that, with and without False Start. It "
        "costs as much as in the study if handshakes come again and again. There are two ways to that. "
        "Objects may lie on several names of the server, and the delay may hold for each direction, as the "
        "loss did: with four names and 200 ms the Flip server costs 9 %, and SPDY gains 14 points (the "
        "table of assumptions). Or the server closes connections of HTTP after two to four requests. SPDY "
        "would mind neither: it opens few connections. The study prints neither, so these are ways to its "
        "figures, and no proof of them."
    )
    return Passage("What would make the Flip server cost as much as in the study?", said, [table])


def _means(laboratory: Laboratory, condition: str, most: int) -> list[float]:
    """Give the mean over all sites in ms, without and with loss, where servers answer so many requests."""
    found = []
    for loss in LOSSES:
        jobs = [(_load(site, condition, loss, most), seed) for site in SITES for seed in range(1, 11)]
        found.append(statistics.mean(outcome.plt_ms for outcome in laboratory.runner.outcomes(jobs)))
    return found


def _load(site: Site, condition: str, loss: str, most: int) -> Scenario:
    page = pages.of_document(home_page(site))
    if condition == HTTP:
        return scenario(page, condition, loss)
    variant: dict[str, Any] = {"protocol": "http/1.1", "tls": AS_IT_IS.tls}
    variant |= {"tcp": {"profile": AS_IT_IS.server}, "client_tcp": {"profile": AS_IT_IS.client}}
    if most:
        variant["requests_per_connection"] = most
    network = f"1mbit,{AS_IT_IS.rtt_ms}ms,loss={loss}%,queue={AS_IT_IS.queue}"
    fields = {"network": network, "variant": variant, "spread": {"network": 1, "times": 0}}
    return experiment.scenario(page, fields)


def _what_was_printed() -> Passage:
    said = (
        "The averages of tables 4 and 6 are those of the appendices, once four numbers that were read "
        "upside down are turned (9.7996 is 9667.6). Three things remain. FoxNews loads 982 KB in 1.9 s "
        "without loss, and 1 Mbit/s carries 230 KB in that time. With loss, ATT and BestBuy seem to have "
        "exchanged their rows in all columns but HTTP's and the last. And \"SPDY is a significant "
        'improvement over HTTP, with and without loss" is true of HTTP through the Flip server: against '
        "HTTP straight the study's own table 6 has a loss of 2.4 %. What it calls percent of SPDY against "
        "HTTP through Flip are points of HTTP straight: 13.6 and 12.3 points are 12.3 and 10.7 % of HTTP "
        "through Flip."
    )
    return Passage("What has to be known of the printed figures?", said)
