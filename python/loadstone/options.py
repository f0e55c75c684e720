"""The options of the verbs that load pages, and what they stand for in a scenario."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from loadstone import paths
from loadstone.experiment import RUNS_OF_RANDOM, SPREAD
from loadstone.pages import METRICS, ONLOAD
from loadstone.settings import OF_EDGES, OF_SCENARIOS, OF_SERVERS, Setting

Command = TypeVar("Command", bound=Callable[..., Any])

# Ranges of what goes into a scenario are the engine's to judge; these two never reach it.
_RUNS = click.IntRange(1, 100_000)
_THREADS = click.IntRange(1, 1024)


def _of(setting: Setting, default: str | None = None, **more: Any) -> Callable[[Command], Command]:
    """Make the option of a setting, whose default may be another here."""
    notes = []
    if (usual := default or setting.default_in_words) is not None:
        notes.append(f"default: {usual}")
    if setting.maximum is not None:
        notes.append(f"{setting.minimum:,} to {setting.maximum:,}")
    said = f"{setting.help}  [{'; '.join(notes)}]" if notes else setting.help
    kind = _PATHS.get(setting.name) or (int if setting.type == "integer" else str)
    flags = [setting.flag, *more.pop("names", [])]
    return click.option(*flags, metavar=setting.metavar, type=kind, help=said, **more)


_PATHS = {
    "network": paths.NETWORK,
    "access_log": paths.WRITTEN,
    "cache_disk": paths.WRITTEN_FOLDER,
}
"""The settings that name files."""

NETWORK = _of(OF_SCENARIOS["network"])
NETWORKS = _of(
    OF_SCENARIOS["network"],
    "cable, wifi, 4g and slow-4g; may be repeated, also with a CSV file of users",
    names=["networks"],
    multiple=True,
)
NETWORK_OF_USERS = _of(OF_SCENARIOS["network"], "4g")
NETWORK_OF_DEPTHS = _of(
    OF_SCENARIOS["network"], "with --depths, the recorded one if there is one; else 10/1mbit,100ms"
)
PROTOCOL_AS_RECORDED = _of(OF_SCENARIOS["protocol"], "the recorded protocol of each host; else h2")
PUSH = _of(OF_SCENARIOS["push"], "dependencies; nothing with --hint or --preconnect")
HINT = _of(OF_SCENARIOS["hint"])
PUSH_LEVELS = _of(OF_SCENARIOS["push_levels"])
PRECONNECT = _of(OF_SCENARIOS["preconnect"])
PROTOCOL = _of(OF_SCENARIOS["protocol"])
IW = _of(OF_SCENARIOS["iw"])
TLS = _of(OF_SCENARIOS["tls"], "1.3, also for http URLs")
TLS_OF_LOAD = _of(OF_SCENARIOS["tls"], "1.3, also for http URLs; with --origin, the server chooses")

USUAL_SPREAD = {
    setting.name: f"{SPREAD[setting.field]}, or 0 if the load is live or its packets are written to a file"
    for setting in OF_SCENARIOS.values()
    if setting.field in SPREAD
}
"""What varies in loads where nothing is said, in words: a scenario file varies nothing then."""

_OF_SOME_VERBS = {"network", "protocol", "iw", "tls", "seed"}
_SHARED = [
    _of(setting, USUAL_SPREAD.get(name))
    for name, setting in OF_SCENARIOS.items()
    if name not in _OF_SOME_VERBS
]

_MANIFEST = [
    click.option(
        "--push-manifest",
        metavar="FILE",
        type=paths.READ,
        help="JSON file that lists which objects to push with which response, as made by 'loadstone "
        'manifest\': {"/": ["/a.css", {"path": "/b.js", "urgency": 1}]}.',
    ),
    click.option(
        "--hints",
        is_flag=True,
        help="Announce the objects of the manifest instead of pushing them: by a 103 (Early Hints) "
        "response, with SPDY by the field X-Subresource.",
    ),
]

_OF_THE_BED = [
    *("iw", "cc", "flows", "client_iw", "client_cc", "client_flows"),
    *("receive_window", "client_receive_window"),
    *("policy", "frame_bytes", "max_streams", "seed"),
]
"""The settings of a bed for any command: links, kernels and servers, but no browser."""
_REFUSED_BY_THE_BED = ["tcp", "client_tcp"]
"""What people will look for: the error says why a kernel cannot have it."""

THREADS = click.option(
    "--threads", metavar="N", type=_THREADS, help="Number of threads.  [default: all cores]"
)

_RUN = [
    click.option(
        "--runs",
        metavar="K",
        type=_RUNS,
        help=f"Number of runs, each with its own seed.  [default: {RUNS_OF_RANDOM}; 1 if nothing varies]",
    ),
    _of(OF_SCENARIOS["seed"]),
    THREADS,
]

UNTIL = click.option(
    "--until",
    metavar="PERCENT",
    help="Instead of a fixed number of runs: run until half of every gain's confidence interval is at "
    "most this share of the gain, as in 1%.",
)

EXACT = click.option(
    "--exact",
    is_flag=True,
    help="Switch off --spread and --spread-times: rates, delays and times are exactly as stated "
    "(docs/model.md#spread).",
)

_VISITED = [
    click.option(
        "--before",
        metavar="PAGE",
        type=paths.PAGE,
        multiple=True,
        help="With --visit-after: page that the browser visited before; repeat it for several pages, in "
        "the order of the visits.  [default: the same page]",
    ),
    click.option(
        "--likely-next",
        metavar="PAGE",
        type=paths.PAGE,
        help="With --prefetch: page that the servers of the last page before expect next.  [default: the "
        "right one]",
    ),
]

_EDGE_OF_COMPARISONS = [
    click.option(
        "--edge",
        "edge_file",
        metavar="FILE",
        type=paths.READ,
        help="Also load through this edge at the end of the access link, and compare; FILE has the "
        "settings of 'loadstone edge' (docs/edge.md#before-it-is-installed).",
    ),
    click.option(
        "--backhaul",
        metavar="NETWORK",
        type=paths.NETWORK,
        help="With --edge: network between the edge and its origins, as in 1gbit,60ms; loads without the "
        "edge cross it, too.  [default: simulated.backhaul of the edge's file]",
    ),
    click.option(
        "--hit-rate",
        metavar="PERCENT",
        type=click.IntRange(0, 100),
        help="With --edge: percentage of URLs whose responses a warm cache has, drawn in each run.  "
        "[default: simulated.hit_rate of the edge's file; else as the responses allow]",
    ),
]

METRIC = click.option(
    "--metric",
    type=click.Choice(METRICS),
    default=ONLOAD,
    show_default=True,
    help="End of a load: the load event, or the moment when all that the largest or the first contentful "
    "paint needs has arrived (docs/pages.md#paints).",
)

KEEP_SECRETS = click.option(
    "--keep-secrets",
    is_flag=True,
    help="Keep cookies, tokens and values in URLs of HARs.  [default: they are replaced]",
)

JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")


_GATE = [
    click.option(
        "--assert",
        "asserted",
        metavar="CONDITION",
        multiple=True,
        help="Condition that must hold for each page on each network, as in 'plt(h2) <= 1.05 * "
        "plt(baseline)'; otherwise the exit code is 1. May be repeated (docs/gate.md).",
    ),
    click.option(
        "--against",
        metavar="FILE",
        type=paths.READ,
        help="Output of an earlier 'compare --json', for conditions such as plt(h2) <= before(plt(h2)).",
    ),
    click.option(
        "--junit",
        metavar="FILE",
        type=paths.WRITTEN,
        help="Write the assertions to this file as test cases in JUnit's XML, for CI.",
    ),
    click.option(
        "--markdown",
        metavar="FILE",
        type=paths.WRITTEN,
        help="Write the results of the assertions to this file, in Markdown.",
    ),
]

_REPLAYING = [
    click.option(
        "--origin",
        "origins",
        metavar="[NAME=]URL",
        multiple=True,
        help="Load from an existing server, as in https://127.0.0.1:8443, over this machine's own "
        "network: for all hosts, or for the host NAME. With 'recorded', from the servers that the "
        "page's URLs name. May be repeated; Linux only (docs/origin.md).",
    ),
    click.option(
        "--pause",
        metavar="SECONDS",
        type=click.FloatRange(0, 86_400),
        help="With --origin: seconds between two loads.  [default: 1]",
    ),
    click.option(
        "--timeout",
        metavar="SECONDS",
        type=click.FloatRange(0, 86_400, min_open=True),
        help="With --origin: abort a load after this many seconds.  [default: 60]",
    ),
    click.option(
        "--all-methods",
        is_flag=True,
        help="With --origin: also send requests that may change data: with methods other than GET, HEAD, "
        "OPTIONS and TRACE.",
    ),
    click.option("--insecure", is_flag=True, help="With --origin: accept any certificate."),
    click.option(
        "--cacert",
        metavar="FILE",
        type=paths.READ,
        help="With --origin: trust the CA certificates in FILE (PEM), not the system's.",
    ),
]
REPLAYING = ("origins", "pause", "timeout", "all_methods", "insecure", "cacert")
"""The names of these."""


def replaying(command: Command) -> Command:
    """Add the options of loads from servers that are there already."""
    return _all(_REPLAYING)(command)


LISTEN = "127.0.0.1:8443"
"""Where a server listens if nothing is said."""

# None on systems that cannot serve.
_SERVING = [_of(setting) for setting in OF_SERVERS.values()]
_EDGE = [_of(setting) for setting in OF_EDGES.values()]


def _all(options: list[Callable[[Any], Any]]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def shared(command: Command) -> Command:
    """Add the options that all verbs have that load pages."""
    return _all([*_SHARED, *_RUN, KEEP_SECRETS, JSON])(command)


def visited(command: Command) -> Command:
    """Add the options that name pages besides the one that is loaded."""
    return _all(_VISITED)(command)


def bed(command: Command) -> Command:
    """Add the options that say how the kernels and servers of a bed behave."""
    refused = [_of(OF_SCENARIOS[name], hidden=True) for name in _REFUSED_BY_THE_BED]
    return _all([*(_of(OF_SCENARIOS[name]) for name in _OF_THE_BED), *refused])(command)


def gate(command: Command) -> Command:
    """Add the options that judge a comparison."""
    return _all(_GATE)(command)


def simulated_edge(command: Command) -> Command:
    """Add the options of an edge that is simulated."""
    return _all(_EDGE_OF_COMPARISONS)(command)


def manifest(command: Command) -> Command:
    """Add the options that say what a server tells ahead."""
    return _all(_MANIFEST)(command)


def serving(command: Command) -> Command:
    """Add the options that say how a server behaves."""
    return _all(_SERVING)(command)


def edge(command: Command) -> Command:
    """Add the options that say how an edge behaves."""
    return _all(_EDGE)(command)


def of_serving(given: dict[str, Any]) -> dict[str, Any]:
    """Give the fields of a server's setting that the given options set."""
    return {setting.field: given[name] for name, setting in OF_SERVERS.items()}


def of_edge(given: dict[str, Any]) -> dict[str, Any]:
    """Give the fields of an edge's settings that the given options set."""
    return {setting.field: given[name] for name, setting in OF_EDGES.items()}


def serving_option(field: str) -> str:
    """Say which option sets this field of a server's setting."""
    named = {setting.field: setting.flag for setting in OF_SERVERS.values()}
    return {**named, "manifest": "--push-manifest"}.get(field, field)
