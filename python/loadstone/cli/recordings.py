"""The verbs `record` and `mirror`: pages as Chromium loads them, in a file."""

from typing import Any

import click

from loadstone import paths
from loadstone.cli.console import INTERRUPTED, Verb, emit, examples, say

_RUNS = click.IntRange(1, 1000)
_SECONDS = click.FloatRange(0, 3600, min_open=True)


def _common(command: Any) -> Any:
    """Add what both verbs have."""
    added = (
        click.option(
            "-o",
            "--output",
            metavar="FILE.wacz",
            type=paths.WRITTEN,
            required=True,
            help="Write the recording to this file. Only its owner can read it: it contains what the user "
            "was sent.",
        ),
        click.option(
            "--settle",
            metavar="SECONDS",
            type=_SECONDS,
            default=2.0,
            help="End a load when nothing has arrived for this long after the load event, or 10 s after "
            "that event.  [default: 2]",
        ),
        click.option(
            "--patience",
            metavar="SECONDS",
            type=_SECONDS,
            default=60.0,
            help="Abort a load without a load event after this time.  [default: 60]",
        ),
        click.option(
            "--keep-secrets",
            is_flag=True,
            help="Keep cookies and credentials in heads.  [default: they are replaced]",
        ),
        click.option("--chromium", "program", metavar="PROGRAM", help="Browser to run.  [default: chromium]"),
        click.option(
            "--json", "as_json", is_flag=True, help="Print a summary of the recording as one JSON document."
        ),
    )
    for add in reversed(added):
        command = add(command)
    return command


@click.command(
    cls=Verb,
    epilog=examples(
        "record https://www.example.org/ -o example.wacz",
        "record https://www.example.org/ -o example.wacz --runs 10 --warm",
        "bed shop.har --network 4g -- loadstone record https://shop.example.test/ -o shop.wacz",
    ),
)
@click.argument("url")
@click.option(
    "--runs",
    metavar="N",
    type=_RUNS,
    default=3,
    help="Load the page N times, each time with an empty cache.  [default: 3]",
)
@click.option(
    "--warm", is_flag=True, help="After each load, load the page once more with the cache of that load."
)
@_common
def record(url: str, runs: int, warm: bool, **given: Any) -> None:
    """Record how Chromium loads a page: responses, events, trace.

    Writes a WACZ file with heads, bodies, DevTools' events and the trace; ReplayWeb.page opens it, too
    (docs/recording.md). It contains what the user was sent, also what is private in bodies and URLs;
    cookies and credentials in heads are replaced.
    """
    _record([url], runs=runs, warm=warm, **given)


@click.command(
    cls=Verb,
    epilog=examples("mirror https://www.example.org/ https://www.example.org/about -o example.wacz"),
)
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@_common
def mirror(urls: tuple[str, ...], **given: Any) -> None:
    """Record several pages of a site into one file, one load each."""
    _record([*dict.fromkeys(urls)], runs=1, warm=False, **given)


def _record(
    urls: list[str],
    *,
    runs: int,
    warm: bool,
    output: str,
    settle: float,
    patience: float,
    keep_secrets: bool,
    program: str | None,
    as_json: bool,
) -> None:
    from loadstone import files, progress
    from loadstone.browser import BrowserError, local, seeded
    from loadstone.files import InputError
    from loadstone.recording import archive, recorder, summary
    from loadstone.recording.visit import Patience

    order = recorder.Order(
        [summary.address(url) for url in urls],
        runs=runs,
        warm=warm,
        patience=Patience(load_s=patience, settle_s=settle),
        keep_secrets=keep_secrets,
        scripts=seeded.scripts(),
    )
    chromium = local.program(program)
    with files.private_replacement(output, archive.KIND) as write:
        try:
            with progress.bar("loads") as show:
                made = recorder.record(chromium, order, show)
        except BrowserError as error:
            raise InputError(str(error)) from None
        write(made.archive.write)
    for line in made.failed:
        say(line)
    emit(summary.document(made, output) if as_json else summary.in_words(made, output))
    if made.interrupted:
        raise click.exceptions.Exit(INTERRUPTED)
