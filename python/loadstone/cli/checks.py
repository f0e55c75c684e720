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
@click.option("--full", is_flag=True, help="The whole grid, some three hours; else two minutes of it.")
@click.option("--kept", is_flag=True, help="Measure nothing: score the measurements that are kept.")
@click.option(
    "--measurements",
    metavar="FILE",
    type=paths.WRITTEN,
    help="Where measurements are kept, one line for each load; what is there is not run again.  "
    "[default: validation.csv; with --kept those in studies/validation]",
)
@click.option(
    "--only",
    metavar="FACTOR=LEVEL,...",
    multiple=True,
    help="Only cells that are so; given several times: or so. Factors: kind, name, rate, rtt, queue, loss, "
    "protocol, connections, iw, cc.",
)
@click.option("--at-once", metavar="N", type=click.IntRange(1, 8), help="Most loads at once.  [default: 8]")
@click.option(
    "--minutes", metavar="M", type=click.FloatRange(0, min_open=True), help="Start no load after M minutes."
)
@click.option(
    "-o",
    "output",
    metavar="DIR",
    type=paths.WRITTEN_FOLDER,
    help="Write validation.md and validation.svg there as well.",
)
@click.option("--accept", is_flag=True, help="With --kept: from now on this accuracy is what is to be held.")
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
    """Hold the simulator against the live kernel: errors of page load times, cell by cell.

    Loads single objects and pages over a grid of networks and TCP settings, on this machine's kernel and
    simulated. A measure that is stopped goes on where it was.
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
    help="What two times may differ by, in ms.  [default: 1]",
)
@click.option(
    "--around",
    metavar="N",
    type=click.IntRange(0, 1000),
    default=6,
    help="Packets that are shown before and after.  [default: 6]",
)
@options.JSON
def packets(one: str, other: str, tolerance: float, around: int, as_json: bool) -> None:
    """Find the first packet that two loads do not have alike, in files of load --packets."""
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
    help="What the connection spoke: spdy/2, spdy/3, spdy/3.1 or h2. No frame of SPDY tells 3 from 3.1.",
)
@click.option(
    "--header-table",
    metavar="BYTES",
    type=click.IntRange(0, 2**32 - 1),
    help="HTTP/2: the SETTINGS_HEADER_TABLE_SIZE that the other direction said.  [default: 4096]",
)
def decode(protocol: str, header_table: int | None) -> None:
    """Show the frames of one direction of a connection, whose bytes are read from standard input.

    One JSON object a line, as soon as its frame is there: type, flags, and what a frame of that type has.
    Header compression is carried through the whole input, so it has to begin where the connection began
    (behind TLS).
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
