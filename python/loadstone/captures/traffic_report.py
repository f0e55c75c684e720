"""The report of captures: one page with what `analyze` prints, with plots, and a connection in pictures."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
from markupsafe import Markup

from loadstone import __version__, text
from loadstone.analysis.plots import Plot
from loadstone.analysis.sections import Section
from loadstone.captures import connection_plots, tables, traffic_output, traffic_plots
from loadstone.captures.traffic import MOST_GROUPS, Traffic
from loadstone.html.templates import embedded, environment

_METHODS = (
    "The round trip of a connection is the mean of its samples, from data to its acknowledgement, on the way "
    "that was captured. The RTO is that plus four deviations. What was sent again is at least what was lost."
)
_OF_CONNECTION = {
    "client": "client",
    "server": "server",
    "captured_at": "captured at",
    "duration_ms": "duration, ms",
    "bytes_down": "bytes to the client",
    "bytes_up": "bytes to the server",
    "rtt_min_ms_down": "least round trip to the client, ms",
    "rtt_mean_ms_down": "mean round trip to the client, ms",
    "rtt_mean_ms_up": "mean round trip to the server, ms",
    "initial_window_down": "the server's initial window, segments",
    "most_in_flight_down": "most bytes on their way to the client",
    "fast_down": "sent again to the client: fast",
    "tail_loss_probes_down": "tail loss probes",
    "timeouts_down": "timeouts",
    "spurious_down": "of these for nothing",
    "window_limited_ms_down": "held back by the receive window, ms",
}


def render(found: Traffic, document: dict[str, Any], folder: str, command: str) -> str:
    """Make the page of what is in a folder of tables; `document` is what `Traffic.document` gave."""
    read = tables.document(folder)
    packets = connection_plots.packets(folder)
    connection, pictures = _connection(found, packets)
    template = environment({"plain": text.harmless}).get_template("traffic.html")
    return template.render(
        title="What do packets say of a server's users?",
        comments=document["comments"],
        said=list(_said(read, document)),
        methods=_METHODS,
        sections=[Section(one.title, one.rows) for one in traffic_output.tables(document, MOST_GROUPS)],
        plots=_embedded(traffic_plots.draw(found, document["by"])),
        connection=connection,
        pictures=_embedded(pictures),
        command=command,
        version=__version__,
        styles=[embedded("report.css"), embedded("analysis.css")],
    )


def _embedded(plots: Sequence[Plot]) -> list[tuple[str, Markup, str]]:
    return [(plot.title, Markup(plot.svg), plot.caption) for plot in plots]


def _said(read: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    seconds = ((read["end_ms"] or 0) - (read["start_ms"] or 0)) / 1e3
    packets = f"{text.count(len(read['files']), 'file')}, {text.count(read['packets'], 'packet')}"
    connections = text.count(document["connections"], "connection")
    responses = text.count(document["exchanges"], "response")
    yield f"{packets} in {seconds:,.0f} s: {connections} of TCP, {responses}. Loadstone {__version__}."
    for unread in read["unread"]:
        yield f"{unread['file']}: {unread['why']}"
    if document["knees"]:
        yield traffic_output.knees_in_words(document["knees"])


def _connection(found: Traffic, packets: pl.DataFrame | None) -> tuple[Section | None, list[Plot]]:
    """Give figures and pictures of the connection whose packets there are."""
    if packets is None or not packets.height:
        return None, []
    number = packets["connection"][0]
    rows = found.connections.filter(connection=number)
    if not rows.height:
        return None, []
    whole = rows.row(0, named=True)
    lines = [[said, _figure(whole[column])] for column, said in _OF_CONNECTION.items()]
    section = Section(f"Connection {number}", [["", ""], *lines])
    return section, connection_plots.draw(packets, whole)


def _figure(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
