"""The command line: each verb parses, calls one function of the library, prints."""

import io
import json
import os
import shlex
import sys
from contextlib import nullcontext
from functools import partial
from typing import Any, NoReturn, cast

import click
from click.core import ParameterSource

from loadstone import __version__, options, text
from loadstone.analyze_command import analyze
from loadstone.fetch_command import fetch
from loadstone.files import InputError
from loadstone.reproduce_command import reproduce
from loadstone.sweep_command import sweep

_FAILED = 1
_GOT_WORSE = 1
_BAD_INPUT = 2
_INTERRUPTED = 130
_BROKEN_PIPE = 141

_PIECE = 8192
"""Bytes of standard input that are read at a time: a few of them can stand for long lines."""

_OF_THE_OUTPUT = {"as_json", "html", "threads", "asserted", "against", "junit", "markdown"}
"""Options that change no figure."""

_PAGE = click.argument("page", metavar="PAGE")
_PAGES = click.argument("names", metavar="PAGE...", nargs=-1, required=True)


def _epilog(*examples: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  loadstone {example}" for example in examples)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_epilog("compare synthetic:B", "load shop.har --network 3g --waterfall", "page shop.har"),
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="loadstone")
@click.pass_context
def loadstone(context: click.Context) -> None:
    """Web page load time, simulated packet by packet.

    PAGE is a HAR (.har, also .gz and .zst; FILE.har#2 is the second page of a file), a page file
    (.page.json), or synthetic:B, synthetic:objects=64,size=10KB.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@loadstone.command(
    epilog=_epilog(
        "page shop.har", "page shop.har#2 --json", "page synthetic:A", "page --survey shop.har news.har"
    )
)
@_PAGES
@click.option("--survey", "is_survey", is_flag=True, help="Hold pages side by side, with their averages.")
@options.JSON
def page(names: tuple[str, ...], as_json: bool, is_survey: bool) -> None:
    """Show what PAGE is: objects, bytes, hosts, depth, kinds.

    With --survey any number of pages: requests, bytes, load times, the shares of the busiest servers and
    their round trips, as far as a HAR has recorded them.
    """
    from loadstone import pages, survey, verb_output

    if is_survey:
        surveyed = survey.survey(names)
        _print(survey.document(surveyed) if as_json else survey.in_words(surveyed))
        return
    if len(names) > 1:
        raise click.UsageError(f"one page at a time, but {len(names)} are given: add --survey")
    read = pages.read(names[0])
    _print(verb_output.page_document(read) if as_json else verb_output.page_text(read))


@loadstone.command(
    epilog=_epilog(
        "load shop.har",
        "load shop.har --network 10/1mbit,100ms,1% --runs 50 --json",
        "load synthetic:B --protocol h2 --iw 3 --waterfall",
        "load synthetic:B --cc bbr --live",
        "load shop.har --network cable --packets packets.csv",
        "load --scenario first.toml",
    )
)
@click.argument("page", metavar="PAGE", required=False)
@options.NETWORK
@options.PROTOCOL
@options.IW
@options.TLS
@options.shared
@click.option("--waterfall", is_flag=True, help="Show when each object was found, asked for and received.")
@click.option(
    "--live",
    is_flag=True,
    help="Load over this machine's own TCP, in real time, instead of simulating. Linux only.",
)
@click.option(
    "--machine-wide-beta",
    is_flag=True,
    help="With --live and --flows, where BPF is not allowed: change CUBIC's beta for the whole machine.",
)
@click.option(
    "--packets",
    metavar="FILE",
    help="Write the packets of the load to this file, as they come to the access link: CSV, alike in both "
    "worlds.",
)
@click.option(
    "--scenario",
    metavar="FILE",
    help="Take page, network and variant from this scenario file (JSON, or TOML if it ends in .toml).",
)
def load(
    page: str | None,
    runs: int | None,
    threads: int | None,
    as_json: bool,
    waterfall: bool,
    live: bool,
    machine_wide_beta: bool,
    packets: str | None,
    scenario: str | None,
    **given: Any,
) -> None:
    """Load PAGE on one network under one variant."""
    from loadstone import experiment, files, pages, progress, verb_output
    from loadstone import packets as capture

    if scenario is not None:
        _refuse_beside_scenario(page, given)
        cell = experiment.read_scenario(scenario)
    elif page is not None:
        cell = experiment.cell(pages.read(page), experiment.chosen(given))
    else:
        raise click.UsageError("Missing argument 'PAGE': give a page or --scenario FILE.")
    jobs = cell.jobs(cell.runs(runs), cell.seed if given["seed"] is None else given["seed"])
    execute: Any = experiment.execute
    if live:
        execute = partial(experiment.execute_live, machine_wide_beta=machine_wide_beta)
    elif machine_wide_beta:
        raise click.UsageError("--machine-wide-beta is about this machine's TCP: give it with --live.")
    if packets is not None and len(jobs) > 1:
        raise click.UsageError(f"--packets is of one load, and these are {len(jobs)}: add --runs 1.")
    with files.replacement(packets) as write, progress.bar("runs") as show:
        limit = None if packets is None else capture.LIMIT
        outcomes = execute(jobs, threads, lambda done: show(done, len(jobs)), packets=limit)
        table, lacks = capture.table(outcomes[0])
        write(table)
    if lacks:
        _say(f"{packets}: {lacks}")
    name = page or scenario or ""
    if as_json:
        _print(verb_output.load_document(name, cell, outcomes, with_waterfall=waterfall))
        if not all(outcome.completed for outcome in outcomes):
            _say(f"{verb_output.incomplete(outcomes)}; the median is of the others")
        return
    _print(verb_output.load_text(name, cell, outcomes))
    if waterfall:
        _print("\n" + verb_output.waterfall_text(outcomes[0], text.width()))


def _refuse_beside_scenario(page: str | None, given: dict[str, Any]) -> None:
    if page is not None:
        raise click.UsageError("The page is in the scenario file: give either PAGE or --scenario.")
    for name, value in given.items():
        if value is not None and name != "seed":
            raise click.UsageError(
                f"--{name.replace('_', '-')} stands in the scenario file: change it there."
            )


@loadstone.command(
    epilog=_epilog(
        "compare shop.har",
        "compare shop.har news.page.json --network dsl-lossy --runs 101",
        "compare synthetic:B --network 5/1mbit,60ms --tls none --json",
        "compare shop.har --network dsl-lossy --until 1%",
        "compare shop.har --html report.html",
        "compare shop.har --assert 'plt(h2) <= 1.05 * plt(baseline)' --junit gate.xml",
    )
)
@_PAGES
@options.NETWORKS
@options.TLS_OF_ALL
@options.UNTIL
@options.shared
@click.option(
    "--html", metavar="FILE", help="Write a report to this file as well: one page, ready to be sent."
)
@options.gate
@click.pass_context
def compare(
    context: click.Context,
    /,
    names: tuple[str, ...],
    networks: tuple[str, ...],
    until: str | None,
    runs: int | None,
    threads: int | None,
    as_json: bool,
    html: str | None,
    asserted: tuple[str, ...],
    against: str | None,
    junit: str | None,
    markdown: str | None,
    **given: Any,
) -> None:
    """Compare protocols and initial windows for each PAGE on several networks.

    Gain is the baseline's median page load time over the variant's: above 1 is faster.
    """
    from loadstone import comparison, experiment, files, pages, progress, stats, verb_output
    from loadstone.gate import comparison_document, gate
    from loadstone.gate.comparison_document import Earlier

    if until is not None and runs is not None:
        raise click.UsageError("--until says when there are enough runs: leave out --runs, or --until.")
    if until is not None and against is not None:
        raise click.UsageError("--against compares the same runs: give --runs instead of --until.")
    gate.refuse_one_file_for_two(
        {"--against": against, "--html": html, "--junit": junit, "--markdown": markdown}
    )
    enough = runs if until is None else stats.Until.parse(until)
    if html is not None:
        # Heavy, so only where it is asked for; and before the runs, after which nobody wants to wait.
        from loadstone.html import report_page
    read = [pages.read(name) for name in names]
    networks = networks or comparison.NETWORKS
    planned = comparison.plan(read, networks, experiment.chosen(given))
    earlier = None if against is None else Earlier.read(against, comparison_document.of_plans(planned, runs))
    opened = gate.gate(asserted, list(comparison.VARIANTS), earlier, junit, markdown)
    with opened as gating, files.replacement(html) as write:
        with progress.bar("runs") as show:
            results = comparison.carry_out(planned, enough, threads, show)
        judgement = gating.judge(results)
        try:
            if html is not None:
                with progress.bar("charts") as show:
                    write(report_page.render(results, read, _command(context), show))
        finally:
            shown = verb_output.compare_document(results) if as_json else verb_output.compare_text(results)
            _print(judgement.add_to(shown))
        gating.publish(judgement)
    if not judgement.holds:
        _say(judgement.headline)
        raise click.exceptions.Exit(_FAILED)


@loadstone.command(epilog=_epilog("packets live.csv simulated.csv", "packets a.csv b.csv --tolerance 5"))
@click.argument("one", metavar="FILE")
@click.argument("other", metavar="FILE")
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

    comparison = capture.compare(one, other, tolerance)
    _print(comparison.document() if as_json else comparison.text(around))


@loadstone.command(
    epilog=_epilog(
        "validate",
        "validate --full --measurements linux.csv --minutes 60",
        "validate --only cc=cubic,loss=0% --only rate=1mbit",
        "validate --kept -o report",
    )
)
@click.option("--full", is_flag=True, help="The whole grid, some three hours; else two minutes of it.")
@click.option("--kept", is_flag=True, help="Measure nothing: score the measurements that are kept.")
@click.option(
    "--measurements",
    metavar="FILE",
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
@click.option("-o", "output", metavar="DIR", help="Write validation.md and validation.svg there as well.")
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
    from loadstone.validation import accuracy, grid, measure, score, validation_report

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
                    runs, measurements or "validation.csv", at_once, minutes, show, _say
                )
        with progress.bar("simulated loads") as show:
            validation = score.score(measured, cells, show)
        _print(validation_report.document(validation) if as_json else validation_report.words(validation))
        write(validation)
    if is_held:
        _hold(accuracy.of(validation), accept=accept)


@loadstone.command(
    epilog=_epilog(
        "serve site --listen localhost:8443 --save-ca ca.pem",
        "serve shop.har --listen 0.0.0.0:443 --access-log -",
        "serve --patterns --plaintext --protocol h2 --listen 127.0.0.1:8080",
        "serve site --push-manifest push.json --protocol spdy/3.1",
    )
)
@click.argument("source", metavar="[DIR|RECORDING]", required=False)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default=options.LISTEN,
    show_default=True,
    help="Where it listens; port 0 is one that is free.",
)
@click.option(
    "--patterns",
    is_flag=True,
    help="Answer /bytes/N, /echo, /push/N and /pushed/I as well (docs/serving.md).",
)
@click.option(
    "--push-manifest",
    metavar="FILE",
    help='What is pushed beside which answers: {"/": ["/a.css", {"path": "/b.js", "urgency": 1}]}.',
)
@click.option(
    "--hints",
    is_flag=True,
    help="Tell of what the manifest lists instead of pushing it: by 103, in SPDY by X-Subresource.",
)
@click.option("--protocol", metavar="PROTOCOL", help="Speak this one alone.  [default: all, by ALPN]")
@click.option("--plaintext", is_flag=True, help="No TLS: http/1.1, or the --protocol that clients know of.")
@click.option("--cert", metavar="FILE", help="Chain of certificates in PEM.  [default: one is made]")
@click.option("--key", metavar="FILE", help="The certificate's key in PEM.")
@click.option("--save-ca", metavar="FILE", help="Write the certificate that clients have to trust, in PEM.")
@options.serving
def serve(
    source: str | None,
    listen: str,
    patterns: bool,
    push_manifest: str | None,
    hints: bool,
    plaintext: bool,
    cert: str | None,
    key: str | None,
    save_ca: str | None,
    **given: Any,
) -> None:
    """Serve files or a recorded page by HTTP/1.1, SPDY and HTTP/2, on one port.

    DIR is a directory; RECORDING is a PAGE, whose objects have the recorded heads and lengths. It serves
    until Ctrl-C, then leaves: a second one ends it.
    """
    from loadstone import files, serving

    if source is None and not patterns:
        raise click.UsageError("Missing argument '[DIR|RECORDING]': give one, or --patterns.")
    if plaintext and (cert or key or save_ca):
        raise click.UsageError("--cert, --key and --save-ca are for TLS: leave out --plaintext.")
    fields = {
        "patterns": patterns,
        "manifest": serving.manifest(push_manifest),
        "telling": "hint" if hints else "push",
        "transport": "plaintext" if plaintext else "tls",
        "identity": serving.identity(cert, key),
        **options.of_serving(given),
    }
    made = serving.setting(source, listen, fields)
    server = serving.open_server(made)
    if save_ca is not None:
        with files.replacement(save_ca) as write:
            write(serving.authority(server))
    # Standard output is the access log's, if that is where it goes.
    for line in serving.ways(server, made):
        click.echo(line, err=given["access_log"] == "-")
    sys.stdout.flush()
    if cut := serving.run(server):
        _say(f"{text.count(cut, 'connection')} cut off: give clients more time with --grace")


@loadstone.command(
    epilog=_epilog("decode --protocol spdy/3.1 < up.bin", "decode --protocol h2 < down.bin | jq .headers")
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
            _print("\n".join(lines))
    if error := error or decoder.close():
        raise InputError(error)


loadstone.add_command(fetch)
loadstone.add_command(reproduce)
loadstone.add_command(sweep)
loadstone.add_command(analyze)


def _report_folder(path: str | None) -> Any:
    """Refuse a folder that cannot be written before anything is measured."""
    if path is None:
        return nullcontext(lambda validation: None)
    # Heavy, so only where it is asked for.
    from loadstone.validation import publish

    return publish.folder(path)


def _refuse_beside_kept(given: dict[str, Any]) -> None:
    for option, value in given.items():
        if value:
            raise click.UsageError(f"{option} is for measuring: leave it out, or leave out --kept.")


def _hold(now: dict[str, dict[str, float]], *, accept: bool) -> None:
    """Compare an accuracy with the one that was accepted, or accept it."""
    from loadstone.validation import accuracy

    if accept:
        accuracy.accept(now)
    elif worse := accuracy.worse(now):
        remedy = "look for why, or accept it with 'loadstone validate --kept --accept'"
        _say(f"the accuracy is not what was accepted: {'; '.join(worse)}: {remedy}")
        raise click.exceptions.Exit(_GOT_WORSE)


def _command(context: click.Context) -> str:
    """Write the command that gives the same figures again."""
    words = ["loadstone", context.command.name or ""]
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in _OF_THE_OUTPUT or context.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        value = context.params[name]
        for one in value if isinstance(value, tuple) else [value]:
            words += [str(one)] if isinstance(parameter, click.Argument) else [parameter.opts[0], str(one)]
    return shlex.join(words)


def _print(shown: str | dict[str, Any]) -> None:
    click.echo(shown if isinstance(shown, str) else json.dumps(shown))


def _say(message: str) -> None:
    """Write one line to standard error."""
    click.echo(f"loadstone: {text.harmless(' '.join(message.split()))}", err=True)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command; whatever goes wrong is one line and an exit code."""
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    try:
        # Not click's own `main`, which answers errors, Ctrl-C and broken pipes in its own way.
        with loadstone.make_context("loadstone", sys.argv[1:] if arguments is None else arguments) as context:
            loadstone.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except KeyboardInterrupt:
        _say("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read has gone; what is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except click.ClickException as error:
        _say(_with_remedy(error))
        return _BAD_INPUT
    except InputError as error:
        _say(str(error))
        return _BAD_INPUT
    return 0


def _with_remedy(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "loadstone"
    return f"{error.format_message().rstrip('.')} (see '{path} --help')"
