"""The verb `bed`: any command behind a link, with the servers of recordings."""

import sys
from typing import Any

import click

from loadstone import options, paths
from loadstone.cli.console import Verb, emit, examples, say

_PINGS = click.IntRange(1, 60_000)
_PING_MS = 10.0
_LOADS = click.IntRange(2, 10_000)
LOADS = 20
"""Loads of a page by a browser, if nothing is said."""


class BedVerb(Verb):
    """The verb, whose command stands behind `--` and is not read here."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Part the command from what is before it."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_COMMAND] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


_COMMAND = "loadstone.bed.command"


@click.command(
    cls=BedVerb,
    epilog=examples(
        "bed shop.har --network slow-4g -- curl -so /dev/null -w '%{time_total}\\n' https://www.shop.example/",
        "bed --network 10/1mbit,100ms,1% --server-command 'iperf3 -s' -- iperf3 -c server",
        "bed shop.har --network cable --protocol http/1.1 --json -- h2load -n 100 https://www.shop.example/",
        "bed shop.har --network 3g -- bash",
        "bed shop.har --network 4g --backhaul 1gbit,80ms --edge-command 'loadstone edge edge.toml' -- bash",
    ),
)
@click.argument("recordings", metavar="[RECORDING]... -- COMMAND...", nargs=-1, type=paths.PAGE)
@options.NETWORK
@options.PROTOCOL_AS_RECORDED
@options.bed
@options.manifest
@options.KEEP_SECRETS
@click.option(
    "--server-command",
    metavar="COMMAND",
    help="Instead of a RECORDING: run this command on the host 'server' behind the link.",
)
@click.option(
    "--edge-command",
    metavar="COMMAND",
    help="Run this command on a host between the link and the servers, with --backhaul behind it: the "
    "servers' names lead clients to this host, and this host to the servers.",
)
@click.option(
    "--backhaul",
    metavar="NETWORK",
    type=paths.NETWORK,
    help="With --edge-command: network between that host and the servers, as in 1gbit,60ms.",
)
@click.option(
    "--pings",
    metavar="N",
    type=_PINGS,
    help="Before COMMAND, measure the link with N ICMP echo requests, one every 10 ms.",
)
@click.option(
    "--pcap", metavar="FILE", type=paths.WRITTEN, help="Write the client's packets to this file as they pass."
)
@click.option(
    "--loads",
    metavar="K",
    type=_LOADS,
    help="If COMMAND is 'chromium URL': load the page K times, each time with an empty cache, and print "
    f"the load times.  [default: {LOADS} with --variant]",
)
@click.option(
    "--variant",
    "asked",
    metavar="SETTINGS",
    multiple=True,
    help="With a browser as COMMAND: a variant to compare, as in 'protocol=h2,iw=32'. May be repeated.",
)
@click.option(
    "--warm", is_flag=True, help="With a browser as COMMAND: measure the second load with the same cache."
)
@click.option("--json", "as_json", is_flag=True, help="Print a last line of JSON: what went over the link.")
def bed(
    recordings: tuple[str, ...],
    keep_secrets: bool,
    server_command: str | None,
    edge_command: str | None,
    backhaul: str | None,
    push_manifest: str | None,
    hints: bool,
    pings: int | None,
    pcap: str | None,
    loads: int | None,
    asked: tuple[str, ...],
    warm: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Run COMMAND behind an emulated link, with recorded servers.

    COMMAND has a network of its own: it reaches the hosts of the RECORDINGs by their names, and nothing
    else. `loadstone bed` exits with the exit code of COMMAND. Linux only; docs/bed.md has the requirements.
    """
    from loadstone import bed as beds
    from loadstone import experiment, serving
    from loadstone.browser import on_bed
    from loadstone.variants import by_host

    context = click.get_current_context()
    command: list[str] = context.meta[_COMMAND]
    if not command:
        raise click.UsageError("Missing COMMAND: give it behind '--', as in 'loadstone bed -- bash'.")
    if server_command is not None and recordings:
        raise click.UsageError("--server-command is there instead of a RECORDING: leave out one of them.")
    if push_manifest is not None and server_command is not None:
        raise click.UsageError("--push-manifest is for the servers of a RECORDING: leave it out.")
    page, recording, protocols = _read(recordings, keep_secrets)
    site = recording and recording.site()
    common = {**by_host(protocols), **experiment.asked(given, exact=True)}
    common |= _behind_edge(page, edge_command, backhaul, server_command)
    announced = beds.Announced(serving.manifest_text(push_manifest), hints)
    behind = on_bed.Behind(server_command, site, recording and recording.recorded_at, announced, edge_command)
    if loads is not None or asked:
        if pcap is not None:
            raise click.UsageError(
                "--pcap is for a COMMAND of your own: leave it out with --loads and --vary."
            )
        _load_by_browser(page, common, asked, command, behind, loads or LOADS, warm, as_json)
        return
    cell = experiment.cell(page, common)
    with (
        beds.signals_held(),
        beds.opened(cell, server_command, pcap, site, announced, edge_command) as opened,
    ):
        trips = opened.native.ping(pings, _PING_MS) if pings else None
        try:
            code = beds.run(opened, on_bed.shown(command, opened) if on_bed.is_chromium(command) else command)
        except beds.NoProgramError as error:
            say(str(error))
            code = error.code
    if as_json:
        matched = {} if site is None else {"recording": _matched(site)}
        ended = {**opened.ended, **_pings(pings, trips), **matched}
        emit({"command": command, "exit_code": code, **cell.settings, **ended})
    if why := beds.unreliable(opened.ended):
        say(why)
    _tell_of(site)
    sys.stdout.flush()
    context.exit(code)


def _read(recordings: tuple[str, ...], keep_secrets: bool) -> tuple[Any, Any, dict[str, str]]:
    """Read what is served: a page, the recording if it has bodies, and what its hosts spoke."""
    from loadstone import bed as beds
    from loadstone import pages
    from loadstone.recording import served

    if any(map(served.has_bodies, recordings)):
        recording = served.read(recordings)
        for line in recording.notices:
            say(line)
        page = recording.page()
        return page, recording, page.protocols
    read = [pages.read(one, keep_secrets=keep_secrets) for one in recordings]
    page = beds.page_of(read) if read else beds.empty_page()
    return page, None, beds.protocols_of(read)


def _behind_edge(
    page: Any, edge_command: str | None, backhaul: str | None, server_command: str | None
) -> dict[str, Any]:
    """Give the topology in which the servers are behind an edge, if one is asked for."""
    from loadstone import bed as beds

    if edge_command is None and backhaul is None:
        return {}
    if edge_command is None or backhaul is None:
        raise click.UsageError("--edge-command and --backhaul go together: add the other one.")
    if server_command is not None:
        raise click.UsageError("--edge-command stands before the servers of a RECORDING: give one.")
    return {"topology": beds.behind_edge(page, backhaul)}


def _matched(site: Any) -> dict[str, Any]:
    from loadstone.recording import served

    return served.report(site)


def _tell_of(site: Any) -> None:
    """Say which requests were not as recorded."""
    from loadstone.recording import served

    for line in served.in_words(served.report(site)) if site is not None else ():
        say(line)


def _load_by_browser(
    page: Any,
    common: dict[str, Any],
    asked: tuple[str, ...],
    command: list[str],
    behind: Any,
    loads: int,
    warm: bool,
    as_json: bool,
) -> None:
    """Load a page by a browser on a bed for each variant."""
    from loadstone import bed as beds
    from loadstone import experiment, progress, variants
    from loadstone.browser import on_bed
    from loadstone.files import InputError

    if not on_bed.is_chromium(command):
        raise click.UsageError("--loads and --variant are for a browser: give '-- chromium URL'.")
    chosen = variants.given(asked)
    cells = {one.name: experiment.cell(page, one.fields(page, common)) for one in chosen}
    with beds.signals_held(), progress.bar("blocks") as show:
        try:
            program, url = command
            browser = on_bed.Browser(program, url, warm=warm)
            measured = on_bed.loads(cells, browser, loads, behind, lambda done: show(done, loads))
        except on_bed.BrowserError as error:
            raise InputError(str(error)) from None
    network = next(iter(cells.values())).network
    if as_json:
        matched = {} if behind.site is None else {"recording": _matched(behind.site)}
        emit({"url": command[1], "network": network, "warm": warm, **on_bed.document(measured), **matched})
    else:
        emit(on_bed.in_words(f"{command[1]} by {command[0]} on {network}", measured))
    _tell_of(behind.site)


def _pings(asked: int | None, trips: list[float] | None) -> dict[str, Any]:
    if trips is None or asked is None:
        return {}
    ordered = sorted(trips)
    quantile = {
        name: ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else None
        for name, share in (("least", 0), ("median", 0.5), ("p90", 0.9), ("most", 1))
    }
    return {"pings": {"sent": asked, "answered": len(trips), "round_trip_ms": quantile}}
