"""The verbs `capture`, captures of traffic as tables, and `generate`; and `analyze` of such tables."""

import shlex
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import click

from loadstone import options, paths, progress, text
from loadstone.cli.console import Verb, emit, examples, say
from loadstone.files import replacement
from loadstone.names import shown_words


@click.command(
    cls=Verb,
    epilog=examples(
        "capture traffic.pcap",
        "capture ring*.pcapng.gz -o traffic",
        "capture - -o traffic < traffic.pcap",
        "capture traffic.pcap -o traffic --connection 1204",
        "capture client.pcap --keys keys --page -o shop",
    ),
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=paths.READ)
@click.option(
    "-o",
    "folder",
    metavar="DIR",
    type=paths.WRITTEN_FOLDER,
    help="Directory for the tables: connections, exchanges, retransmissions and quic, as Parquet.",
)
@click.option(
    "--idle",
    "idle_s",
    metavar="S",
    type=click.IntRange(1, 10_000_000),
    default=900,
    show_default=True,
    help="End a connection after this many seconds without a packet.",
)
@click.option(
    "--periods",
    is_flag=True,
    help="Also write a table of the periods of each connection, each twice as long as the one before.",
)
@click.option(
    "--keys",
    metavar="FILE",
    multiple=True,
    type=paths.READ,
    help="Decrypt TLS with the secrets in FILE, a key log that a browser or server made (SSLKEYLOGFILE). "
    "May be repeated.",
)
@click.option(
    "--connection",
    metavar="N",
    type=click.IntRange(1, 2**63 - 1),
    help="Also write a table of the packets of this connection, by its number in the table of "
    "connections, to plot them.",
)
@click.option(
    "--page",
    "is_page",
    is_flag=True,
    help="Make a page and its network from a capture at the client, in the directory of -o: "
    "captured.page.json, and scenario.json for 'load --scenario'.",
)
@click.option(
    "--client",
    "clients",
    metavar="ADDRESS",
    multiple=True,
    help="With --page: address of the client, if the capture has several. May be repeated.",
)
@click.option(
    "--page-number",
    metavar="N",
    type=click.IntRange(1, 100_000),
    help="With --page: number of the page load, if the client has several.  [default: the first]",
)
@click.option(
    "--har",
    metavar="FILE",
    type=paths.PAGE,
    help="With --page: take the page from this HAR of the same load, if no request can be read; only the "
    "network is then taken from the capture.",
)
@click.option(
    "--waterfall",
    is_flag=True,
    help="With --page: show when each object was requested and received.",
)
@options.KEEP_SECRETS
@options.THREADS
@options.JSON
def capture(
    files: tuple[str, ...],
    folder: str | None,
    idle_s: int,
    periods: bool,
    keys: tuple[str, ...],
    connection: int | None,
    is_page: bool,
    clients: tuple[str, ...],
    page_number: int | None,
    har: str | None,
    waterfall: bool,
    keep_secrets: bool,
    threads: int | None,
    as_json: bool,
) -> None:
    """Analyze packet captures: TCP connections and requests.

    Reads pcap and pcapng, also .gz and .zst; besides, the output of `ss -tin`, and qlog files of QUIC
    endpoints, as far as they have the data. Shows round trips, bytes, and retransmissions with their
    causes; docs/captures.md has the columns of the tables.
    """
    from loadstone.captures import overview, tables

    of_page = {
        "client": clients or None,
        "page-number": page_number,
        "har": har,
        "waterfall": waterfall or None,
        "keep-secrets": keep_secrets or None,
    }
    for name, value in of_page.items():
        if value is not None and not is_page:
            raise click.UsageError(f"--{name} is about the page that --page makes: give both.")
    if is_page and connection is not None:
        raise click.UsageError("--page looks at the packets of all connections: leave out --connection.")
    temporary: Any = tempfile.TemporaryDirectory() if folder is None else nullcontext(folder)
    heads: list[dict[str, Any]] | None = [] if is_page else None
    with temporary as target, progress.bar("bytes") as show:
        asked: dict[str, Any] = {"periods": periods, "packets_of": connection, "keys": keys, "heads": heads}
        read = tables.read(files, target, show, idle_s=idle_s, threads=threads, **asked)
        summed = overview.overview(target)
        if heads is not None:
            # It takes heavy packages.
            from loadstone.captures import captured_page

            wanted = captured_page.Asked(clients, page_number, har, keep_secrets)
            made = captured_page.captured_page(target, heads, wanted, threads)
            made.write(folder)
    for file in read["unread"]:
        say(f"{file['file']}: {file['why']}")
    if heads is not None:
        from loadstone.captures import captured_page_output

        if as_json:
            emit({**read, "page": made.document(with_waterfall=waterfall)})
            return
        emit(captured_page_output.in_words(made, folder))
        if waterfall:
            emit("\n" + captured_page_output.waterfall_text(made, text.width()))
        return
    emit({**read, **summed} if as_json else overview.in_words(read, summed))


@click.command(
    cls=Verb,
    epilog=examples("generate -o edge", "generate cdn.toml -o edge --users 200 --seed 7"),
)
@click.argument("cdn", metavar="[FILE]", required=False, type=paths.READ)
@click.option(
    "-o",
    "folder",
    metavar="DIR",
    required=True,
    type=paths.WRITTEN_FOLDER,
    help="Directory for edge.pcapng, and for networks.csv, which 'analyze --networks' reads.",
)
@click.option(
    "--users",
    metavar="N",
    type=click.IntRange(1, 100_000),
    default=1_000,
    show_default=True,
    help="Number of users of each site; each has several connections.",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(0, 2**31 - 1),
    default=1,
    show_default=True,
    help="Seed of users and losses: the same seed gives the same packets.",
)
@options.THREADS
@options.JSON
def generate(cdn: str | None, folder: str, users: int, seed: int, threads: int | None, as_json: bool) -> None:
    """Generate a packet capture at the edge of a fictitious CDN.

    Its users are drawn at random, and their connections are simulated. FILE is TOML (docs/captures.md) with
    the distributions, each with its source. [default: a CDN as the study yahoo describes its own]
    """
    from loadstone.generated import edge_capture
    from loadstone.generated.cdn_model import YAHOO, CdnModel

    model = CdnModel.read(str(YAHOO) if cdn is None else cdn)
    with progress.bar("users") as show:
        made = edge_capture.write(model, folder, users, seed, show, threads=threads)
    emit({**made, "folder": folder} if as_json else edge_capture.in_words(made, folder))


def analyze(
    folder: str,
    by: str | None,
    networks: Sequence[str],
    output: str | None,
    html: str | None,
    *,
    as_json: bool,
) -> None:
    """Say what the tables in a folder tell of a server's users."""
    from loadstone.captures import traffic, traffic_output
    from loadstone.html import PAGE

    with replacement(html, PAGE) as write_page:
        read = traffic.Traffic.read(folder, networks)
        found = read.document(by)
        if output is not None:
            traffic_output.write(found, output)
        if html is not None:
            # It draws, which takes heavy packages.
            from loadstone.captures import traffic_report

            said = ["--by", by] if by is not None else []
            said += [word for path in shown_words(networks) for word in ("--networks", path)]
            command = shlex.join(["loadstone", "analyze", *shown_words([folder]), *said])
            write_page(traffic_report.render(read, found, folder, command))
    emit(found if as_json else traffic_output.in_words(found))
