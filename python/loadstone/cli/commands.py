"""The verb `bed`: any command behind a link, with the servers of recordings."""

import shlex
import sys
from typing import Any

import click

from loadstone import options, paths
from loadstone.cli.console import Verb, emit, examples, say

_PINGS = click.IntRange(1, 60_000)
_PING_MS = 10.0


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
    ),
)
@click.argument("recordings", metavar="[RECORDING]... -- COMMAND...", nargs=-1, type=paths.PAGE)
@options.NETWORK
@options.PROTOCOL_AS_RECORDED
@options.bed
@options.KEEP_SECRETS
@click.option(
    "--server-command",
    metavar="COMMAND",
    help="Instead of a recording: run this on the host 'server' behind the link.",
)
@click.option(
    "--pings",
    metavar="N",
    type=_PINGS,
    help="Before the command, measure the link by N echo requests, one every 10 ms.",
)
@click.option(
    "--pcap", metavar="FILE", type=paths.WRITTEN, help="Write the client's packets to this file as they pass."
)
@click.option("--json", "as_json", is_flag=True, help="Print what the link saw as the last line, in JSON.")
def bed(
    recordings: tuple[str, ...],
    keep_secrets: bool,
    server_command: str | None,
    pings: int | None,
    pcap: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Run COMMAND behind a link, with the servers of RECORDINGs at its other end.

    The command sees a network of its own: the hosts of the recordings, each at an address, by their names;
    nothing else. Its exit code is that of `loadstone bed`. Linux only; docs/bed.md says what is needed.
    """
    from loadstone import bed as beds
    from loadstone import experiment, pages, variants

    context = click.get_current_context()
    command: list[str] = context.meta[_COMMAND]
    if not command:
        raise click.UsageError("Missing COMMAND: give it behind '--', as in 'loadstone bed -- bash'.")
    if server_command is not None and recordings:
        raise click.UsageError("--server-command is there instead of a RECORDING: leave out one of them.")
    read = [pages.read(one, keep_secrets=keep_secrets) for one in recordings]
    served = beds.page_of(read) if read else beds.empty_page()
    known = variants.by_host(beds.protocols_of(read))
    cell = experiment.cell(served, {**known, **experiment.asked(given, exact=True)})
    program = shlex.split(server_command) if server_command else None
    with beds.signals_held(), beds.opened(cell, program, pcap) as opened:
        trips = opened.native.ping(pings, _PING_MS) if pings else None
        try:
            code = beds.run(opened, command)
        except beds.NoProgramError as error:
            say(str(error))
            code = error.code
    if as_json:
        emit({"command": command, "exit_code": code, **cell.settings, **opened.ended, **_pings(pings, trips)})
    if why := beds.unreliable(opened.ended):
        say(why)
    sys.stdout.flush()
    context.exit(code)


def _pings(asked: int | None, trips: list[float] | None) -> dict[str, Any]:
    if trips is None or asked is None:
        return {}
    ordered = sorted(trips)
    quantile = {
        name: ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else None
        for name, share in (("least", 0), ("median", 0.5), ("p90", 0.9), ("most", 1))
    }
    return {"pings": {"sent": asked, "answered": len(trips), "round_trip_ms": quantile}}
