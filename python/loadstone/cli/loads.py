"""The verbs `page`, `load` and `compare`: what a page is, and how long it loads."""

import shlex
from functools import partial
from typing import Any

import click
from click.core import ParameterSource

from loadstone import options, paths, text
from loadstone._native import capture_points
from loadstone.cli import replays
from loadstone.cli.console import FAILED, Verb, emit, examples, say
from loadstone.names import shown, shown_words

_OF_THE_OUTPUT = {"as_json", "html", "threads", "asserted", "against", "junit", "markdown"}
"""Options that change no figure."""

_PAGES = click.argument("page_names", metavar="PAGE...", nargs=-1, required=True, type=paths.PAGE)


@click.command(
    cls=Verb,
    epilog=examples(
        "page shop.har",
        "page shop.har#2 --json",
        "page synthetic:A",
        "page shop.har --depths --network slow-4g",
        "page --survey shop.har news.har",
        "page --survey traffic/ --cdns cdns.csv --busiest-by bytes",
    ),
)
@_PAGES
@click.option(
    "--survey", "is_survey", is_flag=True, help="Compare several pages side by side, with their averages."
)
@click.option(
    "--depths",
    "is_depths",
    is_flag=True,
    help="Show for each object how deep it is embedded, how much waits for it, and how much later it "
    "could arrive without delaying the load; and the critical path of one load.",
)
@click.option(
    "--cdns",
    metavar="FILE",
    type=paths.READ,
    help="With --survey: CSV file with the domains and networks of CDNs.  [default: an example table]",
)
@click.option(
    "--busiest-by",
    type=click.Choice(["requests", "bytes"]),
    help="With --survey: rank servers by this.  [default: requests]",
)
@options.NETWORK_OF_DEPTHS
@options.PROTOCOL_AS_RECORDED
@options.KEEP_SECRETS
@options.JSON
def page(
    page_names: tuple[str, ...],
    keep_secrets: bool,
    as_json: bool,
    is_survey: bool,
    is_depths: bool,
    cdns: str | None,
    busiest_by: str | None,
    **given: Any,
) -> None:
    """Describe PAGE: its objects, bytes, hosts, depth and kinds.

    With --survey: compare any number of pages, or directories that `capture -o` made: requests, bytes, load
    times, the shares of the busiest servers, their round trips and CDNs, as far as these were recorded.
    With --depths: show the author of one page what each object means for the load; the page is loaded once,
    with nothing varied at random.
    """
    from loadstone import depths, depths_output, pages, survey, verb_output
    from loadstone.recorded import Recording

    if not is_depths and (unused := [f"--{name}" for name, value in given.items() if value is not None]):
        raise click.UsageError(f"{' and '.join(unused)}: only --depths loads the page: add it.")
    if not is_survey and (cdns or busiest_by):
        raise click.UsageError(f"{'--cdns' if cdns else '--busiest-by'} is about surveys: add --survey.")
    if is_survey and is_depths:
        raise click.UsageError("--survey is about several pages, --depths about one: give either.")
    if is_survey:
        surveyed = survey.survey(page_names, cdns, busiest_by or survey.BY[0])
        emit(survey.document(surveyed) if as_json else survey.in_words(surveyed))
        return
    if len(page_names) > 1:
        raise click.UsageError(f"one page at a time, but {len(page_names)} are given: add --survey")
    read = pages.read(page_names[0], keep_secrets=keep_secrets)
    if is_depths:
        found = depths.depths(read, given)
        emit(depths_output.document(found) if as_json else depths_output.in_words(found))
        return
    recording = Recording.of(read)
    recorded = recording.simulated(None) if recording else None
    emit(verb_output.page_document(read, recorded) if as_json else verb_output.page_text(read, recorded))


@click.command(
    cls=Verb,
    epilog=examples(
        "load shop.har",
        "load shop.har --network 10/1mbit,100ms,1% --runs 50 --json",
        "load synthetic:B --protocol h2 --iw 3 --waterfall",
        "load synthetic:B --cc bbr --live",
        "load shop.har --network cable --packets packets.csv",
        "load shop.har --network dsl-lossy --runs 1 --pcap load.pcapng",
        "load shop.wacz --origin https://127.0.0.1:8443 --cacert ca.pem --runs 5",
        "load --scenario first.toml",
    ),
)
@click.argument("page", metavar="PAGE", required=False, type=paths.PAGE)
@options.NETWORK
@options.PROTOCOL
@options.IW
@options.TLS_OF_LOAD
@options.shared
@options.METRIC
@options.visited
@options.EXACT
@click.option("--waterfall", is_flag=True, help="Show when each object was found, requested and received.")
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
    type=paths.WRITTEN,
    help="Write the packets of the load to this file, as they arrive at the access link: CSV, in the same "
    "format for simulated and live loads.",
)
@click.option(
    "--pcap",
    metavar="FILE",
    type=paths.WRITTEN,
    help="Write the packets of the load to this file, for Wireshark and tcptrace: pcapng, with comments "
    "that give the cause of each retransmission.",
)
@click.option(
    "--pcap-at",
    type=click.Choice(capture_points()),
    help="Where --pcap captures packets: at the client, at the servers, or as they arrive at the access "
    "link, which includes those that are lost there.  [default: client]",
)
@click.option(
    "--pcap-snaplen",
    metavar="BYTES",
    type=click.IntRange(100, 262_144),
    help="With --pcap: keep at most this many bytes of each packet; 100 bytes are little more than "
    "headers.  [default: all]",
)
@click.option(
    "--qlog",
    metavar="FILE",
    type=paths.WRITTEN,
    help="Write the packets of the load to this file, for qvis: qlog, as both ends of each connection see "
    "them.",
)
@click.option(
    "--scenario",
    metavar="FILE",
    type=paths.READ,
    help="Take page, network and all settings from this scenario file (JSON, or TOML if its name ends in "
    ".toml).",
)
@options.replaying
def load(
    page: str | None,
    runs: int | None,
    threads: int | None,
    keep_secrets: bool,
    as_json: bool,
    waterfall: bool,
    live: bool,
    machine_wide_beta: bool,
    packets: str | None,
    pcap: str | None,
    pcap_at: str | None,
    pcap_snaplen: int | None,
    qlog: str | None,
    scenario: str | None,
    metric: str,
    exact: bool,
    **given: Any,
) -> None:
    """Load PAGE on one network, simulated or over real TCP.

    Prints the median, the least and the most of the runs' page load times, and of their bytes, packets and
    connections. The load is simulated unless --live or --origin is given (docs/load.md).
    """
    from loadstone import experiment, pages, progress, verb_output
    from loadstone import packets as capture

    if pcap_at and not pcap:
        raise click.UsageError("--pcap-at is where the packets of --pcap are captured: give both.")
    if pcap_snaplen and not pcap:
        raise click.UsageError("--pcap-snaplen is what --pcap keeps of a packet: give both.")
    replaying = {name: given.pop(name) for name in options.REPLAYING}
    if replaying["origins"]:
        simulating = {"live": live, "packets": packets, "pcap": pcap, "qlog": qlog, "scenario": scenario}
        simulating |= {"threads": threads} | {
            name: given[name] for name in ("network", "before", "likely_next")
        }
        replays.refuse(page, simulating)
        made = replays.Order(runs, keep_secrets, as_json, waterfall, metric, exact)
        replays.load(str(page), made, replaying, given)
        return
    replays.refuse_alone(replaying)
    captured = capture.Files(packets, pcap, pcap_at, pcap_snaplen, qlog)
    measured = None
    if scenario is not None:
        asked = {"exact": exact or None, "metric": None if metric == pages.ONLOAD else metric}
        _refuse_beside_scenario(page, {**given, **asked})
        cell = experiment.read_scenario(scenario)
    elif page is not None:
        # The kernel varies by itself, and packets are looked at one by one.
        usual = experiment.EXACT if live or captured.limit else experiment.SPREAD
        chosen = experiment.asked(given, exact=exact, usual=usual)
        read = pages.read(page, keep_secrets=keep_secrets).until(metric)
        measured = read.measured
        cell = experiment.cell(read, chosen)
    else:
        raise click.UsageError("Missing argument 'PAGE': give a page or --scenario FILE.")
    jobs = cell.jobs(cell.runs(runs), cell.seed if given["seed"] is None else given["seed"])
    execute: Any = experiment.execute
    if live:
        execute = partial(experiment.execute_live, machine_wide_beta=machine_wide_beta)
    elif machine_wide_beta:
        raise click.UsageError("--machine-wide-beta is about this machine's TCP: give it with --live.")
    if captured.limit and len(jobs) > 1:
        option = "--packets" if packets else "--pcap" if pcap else "--qlog"
        raise click.UsageError(f"{option} is of one load, and these are {len(jobs)}: add --runs 1.")
    with captured.opened() as make_files, progress.bar("runs") as show:
        outcomes = execute(jobs, threads, lambda done: show(done, len(jobs)), packets=captured.limit)
        lacks = make_files(outcomes[0])
    for lack in lacks:
        say(lack)
    [name] = shown([page or scenario or ""])
    if as_json:
        document = verb_output.load_document(name, cell, outcomes, with_waterfall=waterfall)
        emit(document | verb_output.measured_document(measured))
        if not all(outcome.completed for outcome in outcomes):
            say(f"{verb_output.incomplete(outcomes)}; the median is of the others")
        return
    emit(verb_output.measured_first(measured, verb_output.load_text(name, cell, outcomes)))
    if waterfall:
        emit("\n" + verb_output.waterfall_text(outcomes[0], text.width()))


def _refuse_beside_scenario(page: str | None, given: dict[str, Any]) -> None:
    if page is not None:
        raise click.UsageError("The page is in the scenario file: give either PAGE or --scenario.")
    for name, value in given.items():
        if value not in (None, ()) and name != "seed":
            raise click.UsageError(
                f"--{name.replace('_', '-')} stands in the scenario file: change it there."
            )


@click.command(
    cls=Verb,
    epilog=examples(
        "whatif shop.har",
        "whatif shop.har --network slow-4g --all",
        "whatif shop.har --network cable --protocol h2 --json",
    ),
)
@click.argument("page", metavar="PAGE", type=paths.PAGE)
@options.NETWORK_OF_USERS
@options.PROTOCOL_AS_RECORDED
@options.IW
@options.TLS
@options.shared
@options.METRIC
@options.EXACT
@click.option(
    "--all",
    "is_all",
    is_flag=True,
    help="Show all changes, also those that save little, nothing for certain, or cost time.",
)
def whatif(
    page: str,
    runs: int | None,
    threads: int | None,
    keep_secrets: bool,
    as_json: bool,
    metric: str,
    exact: bool,
    is_all: bool,
    **given: Any,
) -> None:
    """Find what would make PAGE faster, one change at a time.

    Changes each third party, host, kind of object, and object on the critical path: leaves it out, halves
    its bytes, caches it, moves it nearer, or lets it be found earlier (docs/whatif.md). All loads have the
    same seeds.
    """
    from loadstone import experiment, pages, progress, savings, savings_output, verb_output

    read = pages.read(page, keep_secrets=keep_secrets).until(metric)
    asked = experiment.asked(given, exact=exact)
    chosen = savings.settings(read, asked)
    with progress.bar("runs") as show:
        found = savings.what_if(read, chosen, runs, threads, show)
    if as_json:
        emit(savings_output.document(found) | verb_output.measured_document(read.measured))
    else:
        emit(verb_output.measured_first(read.measured, savings_output.in_words(found, is_all=is_all)))


@click.command(
    cls=Verb,
    epilog=examples(
        "diff before.har after.har",
        "diff main.page.json branch.page.json --network slow-4g --json",
        "diff before/ after.har#all",
    ),
)
@click.argument("before", metavar="BEFORE", type=paths.PAGE)
@click.argument("after", metavar="AFTER", type=paths.PAGE)
@options.NETWORKS
@options.PROTOCOL_AS_RECORDED
@options.IW
@options.TLS
@options.shared
@options.METRIC
@options.EXACT
def diff(
    before: str,
    after: str,
    networks: tuple[str, ...],
    runs: int | None,
    threads: int | None,
    keep_secrets: bool,
    as_json: bool,
    metric: str,
    exact: bool,
    **given: Any,
) -> None:
    """Compare two states of a page: its objects and load time.

    Shows which objects were added, removed or changed in size, and what that does to the load time. Both
    states are loaded with the same seeds on each network. Objects are the same if their URLs are, or else
    host and path. BEFORE and AFTER may each be several recorded sessions: a directory, or FILE.har#all.
    """
    from loadstone import comparison, difference, difference_output, experiment, progress, verb_output

    one, other = difference.states(before, after, keep_secrets=keep_secrets, metric=metric)
    chosen = experiment.asked(given, exact=exact)
    where = networks or comparison.NETWORKS
    with progress.bar("runs") as show:
        found = difference.difference(one, other, where, chosen, runs, threads, show)
    if as_json:
        emit(difference_output.document(found) | verb_output.measured_document(other.sessions[0].measured))
    else:
        emit(verb_output.measured_first(other.sessions[0].measured, difference_output.in_words(found)))


@click.command(
    cls=Verb,
    epilog=examples(
        "compare shop.har",
        "compare shop.har news.page.json --network dsl-lossy --runs 101",
        "compare synthetic:B --network 5/1mbit,60ms --tls none --json",
        "compare shop.har --variant protocol=h2,iw=32 --variant spdy/3.1 --baseline spdy/3.1",
        "compare shop.har --variant h2 --vary iw=4,10,32",
        "compare shop.har --network dsl-lossy --until 1%",
        "compare shop.har --html report.html",
        "compare shop.har --edge edge.toml --backhaul 1gbit,80ms --network 4g --network users.csv",
        "compare shop.har --assert 'plt(h2) <= 1.05 * plt(baseline)' --junit gate.xml",
    ),
)
@_PAGES
@options.visited
@options.NETWORKS
@click.option(
    "--variant",
    "asked",
    metavar="SETTINGS",
    multiple=True,
    help="A variant to compare, as in h2, or protocol=h2,iw=32,name=large: options without their dashes. "
    "May be repeated; a single one is compared with the recorded protocols.  [default: recorded, if "
    "a HAR has the protocols of its hosts; http/1.1; h2]",
)
@click.option(
    "--vary",
    "varied",
    metavar="SETTING=VALUES",
    multiple=True,
    help="Compare each variant with each of these values, as in iw=4,10,32. May be repeated.",
)
@click.option(
    "--baseline",
    metavar="VARIANT",
    help="The variant that the others are compared with.  [default: the first]",
)
@options.simulated_edge
@options.IW
@options.TLS
@options.UNTIL
@options.shared
@options.METRIC
@options.EXACT
@click.option(
    "--html",
    metavar="FILE",
    type=paths.WRITTEN,
    help="Also write a report to this file: one HTML page that needs no other files.",
)
@options.gate
@click.pass_context
def compare(
    context: click.Context,
    /,
    page_names: tuple[str, ...],
    networks: tuple[str, ...],
    asked: tuple[str, ...],
    varied: tuple[str, ...],
    baseline: str | None,
    until: str | None,
    runs: int | None,
    threads: int | None,
    keep_secrets: bool,
    as_json: bool,
    html: str | None,
    metric: str,
    exact: bool,
    asserted: tuple[str, ...],
    against: str | None,
    junit: str | None,
    markdown: str | None,
    edge_file: str | None,
    backhaul: str | None,
    hit_rate: int | None,
    **given: Any,
) -> None:
    """Compare protocols or other variants on several networks.

    Loads each PAGE in each variant under the same seeds. Gain is the baseline's median page load time
    divided by the variant's: above 1 is faster.
    """
    from loadstone import (
        comparison,
        experiment,
        files,
        pages,
        progress,
        simulated_edge,
        stats,
        users,
        users_output,
        variants,
        verb_output,
    )
    from loadstone.gate import comparison_document, gate
    from loadstone.gate.comparison_document import KeptFindings
    from loadstone.html import PAGE

    if edge_file is not None and html is not None:
        raise click.UsageError("--html says what helps a page without an edge: leave out --html, or --edge.")
    if until is not None and runs is not None:
        raise click.UsageError("--until says when there are enough runs: leave out --runs, or --until.")
    if until is not None and against is not None:
        raise click.UsageError("--against compares the same runs: give --runs instead of --until.")
    enough = runs if until is None else stats.Until.parse(until)
    if html is not None:
        # Heavy, so only where it is asked for; and before the runs, after which no one wants to wait.
        from loadstone.html import report_page
    read = pages.read_all(page_names, keep_secrets=keep_secrets, metric=metric)
    groups = [network for network in networks if users.is_file(network)]
    networks = tuple(network for network in networks or comparison.NETWORKS if network not in groups)
    if groups and not networks and (html or asserted or against):
        raise click.UsageError("--html and the gate are about networks: give one beside the users.")
    chosen = experiment.asked(given, exact=exact)
    edge = simulated_edge.asked_for(edge_file, backhaul, hit_rate, chosen)
    compared = variants.variants(read, asked, varied, None if edge else baseline)
    if edge:
        compared = variants.baseline_first(edge.variants(read, compared, chosen), baseline)
    planned = comparison.plan(read, compared, networks, chosen)
    of_users = [users.UsersPlan.of(page, path, compared, chosen) for page in read for path in groups]
    earlier = (
        None if against is None else KeptFindings.read(against, comparison_document.of_plans(planned, runs))
    )
    opened = gate.gate(asserted, [variant.name for variant in compared], earlier, junit, markdown)
    with opened as gating, files.replacement(html, PAGE) as write:
        with progress.bar("runs") as show:
            results = comparison.carry_out(planned, enough, threads, show)
            found = [plan.carry_out(enough, threads, show) for plan in of_users]
        judgement = gating.judge(results)
        try:
            if html is not None:
                with progress.bar("ideas") as show:
                    saved = report_page.savings(results, read, compared[0], networks, chosen, threads, show)
                write(report_page.render(results, read, saved, _command(context)))
        finally:
            first = compared[0].name
            document = users_output.added_to(verb_output.compare_document(results, first), found)
            shown = users_output.below(verb_output.compare_text(results), found, first)
            if edge:
                document, shown = edge.added_to(document, read), edge.below(shown, read)
            emit(judgement.add_to(document) if as_json else judgement.add_to(shown))
        gating.publish(judgement)
    if not judgement.holds:
        say(judgement.headline)
        raise click.exceptions.Exit(FAILED)


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
    return shlex.join(shown_words(words))
