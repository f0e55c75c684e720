"""The verbs `validate`, `packets` and `decode`: two worlds, two loads, the frames of one."""

import io
import sys
from contextlib import nullcontext
from typing import Any, cast

import click

from loadstone import options, paths
from loadstone.cli.console import FAILED, Verb, emit, examples, say
from loadstone.files import InputError

_PIECE = 8192
"""Bytes of standard input that are read at a time: a few of them can stand for long lines."""


@click.command(
    cls=Verb,
    epilog=examples(
        "validate",
        "validate --full --measurements linux.csv --minutes 60",
        "validate --only cc=cubic,loss=0% --only rate=1mbit",
        "validate --kept -o report",
    ),
)
@click.option(
    "--full",
    is_flag=True,
    help="Measure the whole grid, in about three hours, instead of a part, in two minutes.",
)
@click.option("--kept", is_flag=True, help="Measure nothing: evaluate the kept measurements.")
@click.option(
    "--measurements",
    metavar="FILE",
    type=paths.WRITTEN,
    help="File with the measurements, one line for each load; loads that it has are not repeated.  "
    "[default: validation.csv; with --kept those in studies/validation]",
)
@click.option(
    "--only",
    metavar="FACTOR=LEVEL,...",
    multiple=True,
    help="Use only cells with these levels; if repeated, cells that match any of the lists. Factors: "
    "kind, name, rate, rtt, queue, loss, protocol, connections, iw, cc.",
)
@click.option(
    "--at-once",
    metavar="N",
    type=click.IntRange(1, 8),
    help="Maximum number of simultaneous loads.  [default: 8]",
)
@click.option(
    "--minutes",
    metavar="M",
    type=click.FloatRange(0, min_open=True),
    help="Start no load after this many minutes.",
)
@click.option(
    "-o",
    "output",
    metavar="DIR",
    type=paths.WRITTEN_FOLDER,
    help="Also write validation.md and validation.svg to this directory.",
)
@click.option(
    "--accept",
    is_flag=True,
    help="With --kept: accept this accuracy; later runs of --kept fail if theirs is worse.",
)
@options.JSON
def validate(
    full: bool,
    kept: bool,
    measurements: str | None,
    only: tuple[str, ...],
    at_once: int | None,
    minutes: float | None,
    output: str | None,
    accept: bool,
    as_json: bool,
) -> None:
    """Compare the simulator with this machine's kernel.

    Loads single objects and pages on a grid of networks and TCP settings, over the kernel's TCP and
    simulated, and shows the errors of the simulated page load times. A stopped measurement can be resumed.
    """
    from loadstone import progress
    from loadstone.studies.validation import accuracy, grid, measure, score, validation_report

    if kept:
        _refuse_beside_kept({"--full": full, "--at-once": at_once, "--minutes": minutes})
    is_held = kept and not measurements and not only
    if accept and not is_held:
        raise click.UsageError("--accept is for all measurements that are kept: give it with --kept alone.")
    with _report_folder(output) as write:
        if kept:
            measured = accuracy.read(measurements)
            cells = grid.chosen(measured.cells(), only)
        else:
            runs = (grid.FULL if full else grid.QUICK).only(only)
            cells = list(runs.cells)
            with progress.bar("live loads") as show:
                measured = measure.measure(
                    runs, measurements or "validation.csv", at_once, minutes, show, say
                )
        with progress.bar("simulated loads") as show:
            validation = score.score(measured, cells, show)
        emit(validation_report.document(validation) if as_json else validation_report.words(validation))
        write(validation)
    if is_held:
        _hold(accuracy.of(validation), accept=accept)


def _report_folder(path: str | None) -> Any:
    """Refuse a folder that cannot be written before anything is measured."""
    if path is None:
        return nullcontext(lambda validation: None)
    # Heavy, so only where it is asked for.
    from loadstone.studies.validation import publish

    return publish.folder(path)


def _refuse_beside_kept(given: dict[str, Any]) -> None:
    for option, value in given.items():
        if value:
            raise click.UsageError(f"{option} is for measuring: leave it out, or leave out --kept.")


def _hold(now: dict[str, dict[str, float]], *, accept: bool) -> None:
    """Compare an accuracy with the one that was accepted, or accept it."""
    from loadstone.studies.validation import accuracy

    if accept:
        accuracy.accept(now)
    elif worse := accuracy.worse(now):
        remedy = "look for why, or accept it with 'loadstone validate --kept --accept'"
        say(f"the accuracy is not what was accepted: {'; '.join(worse)}: {remedy}")
        raise click.exceptions.Exit(FAILED)


@click.command(
    cls=Verb, epilog=examples("packets live.csv simulated.csv", "packets a.csv b.csv --tolerance 5")
)
@click.argument("one", metavar="FILE", type=paths.READ)
@click.argument("other", metavar="FILE", type=paths.READ)
@click.option(
    "--tolerance",
    metavar="MS",
    type=click.FloatRange(0),
    default=1.0,
    help="Treat times as equal if they differ by at most this many milliseconds.  [default: 1]",
)
@click.option(
    "--around",
    metavar="N",
    type=click.IntRange(0, 1000),
    default=6,
    help="Number of packets to show before and after it.  [default: 6]",
)
@options.JSON
def packets(one: str, other: str, tolerance: float, around: int, as_json: bool) -> None:
    """Find the first packet that differs between two loads.

    Each FILE has the packets of one load, as `loadstone load --packets` wrote them.
    """
    from loadstone import packets as capture

    compared = capture.compare(one, other, tolerance, around)
    emit(compared if as_json else capture.in_words(compared, (one, other)))


@click.command(
    cls=Verb,
    epilog=examples("decode --protocol spdy/3.1 < up.bin", "decode --protocol h2 < down.bin | jq .headers"),
)
@click.option(
    "--protocol",
    metavar="PROTOCOL",
    required=True,
    help="Protocol of the connection: spdy/2, spdy/3, spdy/3.1 or h2. (Frames do not show whether it is "
    "spdy/3 or spdy/3.1.)",
)
@click.option(
    "--header-table",
    metavar="BYTES",
    type=click.IntRange(0, 2**32 - 1),
    help="HTTP/2: value of SETTINGS_HEADER_TABLE_SIZE that was sent in the other direction.  [default: 4096]",
)
def decode(protocol: str, header_table: int | None) -> None:
    """Decode SPDY or HTTP/2 frames from standard input to JSON.

    The input is one direction of a connection, without TLS and from its first byte on: header compression
    depends on all that came before. Prints one JSON object per line as soon as a frame is complete: its
    type, flags and fields.
    """
    from loadstone import LoadstoneError, _native

    try:
        decoder = _native.Decoder(protocol, header_table)
    except LoadstoneError as refused:
        raise InputError(refused.args[0]) from refused
    stdin, error = cast(io.BufferedReader, sys.stdin.buffer), None
    # What is there is read, not what fits: a live connection says little at a time.
    while error is None and (data := stdin.read1(_PIECE)):
        lines, error = decoder.feed(data)
        if lines:
            click.echo("\n".join(lines))
    if error := error or decoder.close():
        raise InputError(error)
