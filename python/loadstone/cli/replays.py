"""The verb `load` with `--origin`: a page from servers that are there already."""

from dataclasses import dataclass
from typing import Any

import click

from loadstone.cli.console import FAILED, emit, say
from loadstone.names import shown

_PAUSE, _TIMEOUT = 1.0, 60.0


@dataclass(frozen=True)
class Order:
    """What of the options of `load` counts here, too."""

    runs: int | None
    keep_secrets: bool
    as_json: bool
    waterfall: bool
    metric: str
    exact: bool


_ELSEWHERE = {
    "live": "with --origin a load is live, over this machine's own network",
    "packets": "packets are seen on links of our own: capture them with tcpdump",
    "pcap": "packets are seen on links of our own: capture them with tcpdump",
    "scenario": "a scenario has servers of its own: give PAGE",
    "threads": "loads from a server come one after the other",
    "network": "the network is the one that is there, and is measured",
}


def refuse(page: str | None, given: dict[str, Any]) -> None:
    """Refuse what has no meaning where links and servers are not ours."""
    for name, value in given.items():
        if value:
            raise click.UsageError(f"--{name} with --origin: {_ELSEWHERE[name]}: leave one of them out.")
    if page is None:
        raise click.UsageError("Missing argument 'PAGE': give the page that is loaded from the origin.")


def refuse_alone(replaying: dict[str, Any]) -> None:
    """Refuse options of loads from servers where there is none."""
    for name, value in replaying.items():
        if value not in (None, False, ()):
            raise click.UsageError(f"--{name.replace('_', '-')} is about real servers: give one by --origin.")


def load(page: str, order: Order, replaying: dict[str, Any], given: dict[str, Any]) -> None:
    """Load the page from the servers, and print what came of it."""
    from loadstone import experiment, fetch, origin, origin_output, pages, progress, text, verb_output

    chosen = experiment.asked(given, exact=order.exact, usual=experiment.EXACT)
    if given["tls"] is None:
        del chosen["variant.tls"]
    cacert, pause, timeout = replaying["cacert"], replaying["pause"], replaying["timeout"]
    asked = origin.Asked(
        origins=replaying["origins"],
        cacert=None if cacert is None else fetch.content(cacert),
        insecure=replaying["insecure"],
        timeout=_TIMEOUT if timeout is None else timeout,
        pause=_PAUSE if pause is None else pause,
        all_methods=replaying["all_methods"],
        keep_secrets=order.keep_secrets,
    )
    read = pages.read(page, keep_secrets=order.keep_secrets).until(order.metric)
    try:
        with progress.bar("loads") as show:
            replayed = origin.replay(read, chosen, asked, order.runs, given["seed"], show)
    except origin.ServerError as error:
        say(str(error))
        raise click.exceptions.Exit(FAILED) from None
    [name] = shown([page])
    if order.as_json:
        document = origin_output.document(name, replayed, with_waterfall=order.waterfall)
        emit(document | verb_output.measured_document(read.measured))
        for line in origin_output.failures(replayed.loads):
            say(line)
    else:
        emit(verb_output.measured_first(read.measured, origin_output.in_words(name, replayed)))
        if order.waterfall:
            emit("\n" + verb_output.waterfall_text(replayed.loads[0].outcome, text.width()))
    if not all(load.outcome.completed for load in replayed.loads):
        raise click.exceptions.Exit(FAILED)
