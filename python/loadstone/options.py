"""The options of the verbs that load pages, and what they stand for in a scenario."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from loadstone import experiment, paths
from loadstone._native import Scenario, networks, protocols
from loadstone.experiment import DEFAULT_SEED, RUNS_OF_RANDOM

Command = TypeVar("Command", bound=Callable[..., Any])

# Ranges of what goes into a scenario are the engine's to judge; these two never reach it.
_RUNS = click.IntRange(1, 100_000)
_THREADS = click.IntRange(1, 1024)


def _engine_defaults() -> dict[str, Any]:
    """Ask the engine what it takes where nothing is said."""
    smallest = Scenario('{"page": {"objects": [{"url": "http://a.test/", "bytes": 0}]}}')
    fields: dict[str, Any] = json.loads(smallest.settings_json())
    return fields


_FIELDS = _engine_defaults()
_VARIANT = _FIELDS["variant"]
_NETWORKS = ", ".join(name for name, _ in networks())


def _option(
    flag: str, metavar: str, says: str, default: object, kind: type | paths.PathType = str
) -> Callable[[Command], Command]:
    return click.option(flag, metavar=metavar, type=kind, help=f"{says}  [default: {default}]")


_NETWORK_HELP = (
    "DOWN[/UP],RTTms[,loss=DOWN%[/UP%]][,queue=100ms|64KB|1000p][,trace=FILE][,trace-up=FILE],"
    f" or one of {_NETWORKS}."
)
NETWORK = _option("--network", "NETWORK", _NETWORK_HELP, experiment.DEFAULT_NETWORK, paths.NETWORK)
NETWORKS = click.option(
    "--network",
    "networks",
    metavar="NETWORK",
    type=paths.NETWORK,
    multiple=True,
    help=f"{_NETWORK_HELP} Can be given several times.  [default: each of those]",
)

PROTOCOL = _option("--protocol", "PROTOCOL", f"One of {', '.join(protocols())}.", _VARIANT["protocol"])
IW = _option("--iw", "N", "Initial window of the servers, in segments.", _VARIANT["tcp"]["iw"], int)

_TLS = "none|1.0|1.2|1.3", "TLS on all connections, or on none."
TLS = _option("--tls", *_TLS, "by each URL's scheme, 1.3 or none")
TLS_OF_ALL = _option("--tls", *_TLS, "1.3, whatever the URLs' schemes")

_PROFILES = "linux-6, linux-3.7, linux-2.6, windows-7, mac-os-x-10.5, textbook"

_SCOPES = "nothing|embedded|dependencies|all"

_SHARED = [
    _option("--servers", "N", "Deal the objects in turn over N hosts.", "leave them where they are", int),
    _option("--connections", "N", "Connections per host.", _VARIANT["connections"], int),
    _option(
        "--requests-per-connection",
        "N",
        "Most requests that a server answers on a connection: 1 keeps none alive.",
        "any number",
        int,
    ),
    _option("--cc", "reno|cubic|bbr", "Congestion control of the servers.", _VARIANT["tcp"]["cc"]),
    _option(
        "--policy",
        "priority|round-robin|weighted|first-come-first-served|dependencies",
        "Which response a server of SPDY or HTTP/2 sends next.",
        _VARIANT["multiplexing"]["policy"],
    ),
    _option(
        "--frame-bytes",
        "BYTES",
        "Most content of a DATA frame of SPDY or HTTP/2.",
        _VARIANT["multiplexing"]["frame_bytes"],
        int,
    ),
    _option(
        "--max-streams",
        "N",
        "Most streams that either end of SPDY or HTTP/2 lets the other have open.",
        _VARIANT["multiplexing"]["streams"],
        int,
    ),
    _option("--push", _SCOPES, "What servers push with a response (SPDY, HTTP/2).", "nothing"),
    _option("--hint", _SCOPES, "What servers tell the browser to fetch by itself.", "nothing"),
    _option(
        "--hint-by",
        "early-hints|link|subresource",
        "By a response 103, by Link or by X-Subresource in the response.",
        "early-hints",
    ),
    _option(
        "--notsent-lowat",
        "BYTES",
        "What servers' sockets take beyond what is sent (TCP_NOTSENT_LOWAT): less means later decisions.",
        "the profile's, 16384",
        int,
    ),
    _option("--client-iw", "N", "Initial window of the client.", _VARIANT["client_tcp"]["iw"], int),
    _option(
        "--client-cc", "reno|cubic|bbr", "Congestion control of the client.", _VARIANT["client_tcp"]["cc"]
    ),
    _option("--tcp", "PROFILE", f"Whose TCP the servers have: {_PROFILES}.", _VARIANT["tcp"]["profile"]),
    _option("--client-tcp", "PROFILE", "Whose TCP the client has.", "the servers'"),
    _option("--flows", "N", "Let a connection of the servers behave like N (TCP+).", "1", int),
    _option("--client-flows", "N", "Let a connection of the client behave like N.", "the servers'", int),
]

THREADS = click.option("--threads", metavar="N", type=_THREADS, help="Threads.  [default: all cores]")

_RUN = [
    click.option(
        "--runs",
        metavar="K",
        type=_RUNS,
        help=f"Runs, each with its own seed.  [default: 1; {RUNS_OF_RANDOM} where loss is random]",
    ),
    click.option(
        "--seed",
        metavar="S",
        type=int,
        help=f"Seed of the first run; run k has S+k.  [default: {DEFAULT_SEED}]",
    ),
    THREADS,
]

UNTIL = click.option(
    "--until",
    metavar="PERCENT",
    help="Instead of --runs: run until half of every gain's interval is at most so much of it, as in 1%.",
)

KEEP_SECRETS = click.option(
    "--keep-secrets",
    is_flag=True,
    help="Leave cookies, tokens and values in URLs of HARs as they are, instead of replacing them.",
)

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


_GATE = [
    click.option(
        "--assert",
        "asserted",
        metavar="CONDITION",
        multiple=True,
        help="What has to hold for each page on each network, as in 'plt(h2) <= 1.05 * plt(baseline)'; else "
        "the exit code is 1. Can be given several times (docs/gate.md).",
    ),
    click.option(
        "--against",
        metavar="FILE",
        type=paths.READ,
        help="What was before: the document of an earlier compare --json, of which before(plt(h2)) asks.",
    ),
    click.option(
        "--junit",
        metavar="FILE",
        type=paths.WRITTEN,
        help="Write the assertions to this file as tests, for CI.",
    ),
    click.option(
        "--markdown",
        metavar="FILE",
        type=paths.WRITTEN,
        help="Write what came of the assertions to this file.",
    ),
]

LISTEN = "127.0.0.1:8443"
"""Where a server listens if nothing is said."""

_OF_SERVING = {
    "protocol": "protocol",
    "policy": "multiplexing.policy",
    "frame_bytes": "multiplexing.frame_bytes",
    "max_streams": "multiplexing.streams",
    "notsent_lowat": "notsent_lowat",
    "access_log": "access_log",
    "idle": "idle",
    "grace": "grace",
}
"""Which field of a server's setting each option sets."""

_SERVING = [
    _option(
        "--policy",
        "priority|round-robin|weighted|first-come-first-served|dependencies",
        "Which response goes next in SPDY and HTTP/2.",
        _VARIANT["multiplexing"]["policy"],
    ),
    _option(
        "--frame-bytes",
        "BYTES",
        "Most content of a DATA frame.",
        _VARIANT["multiplexing"]["frame_bytes"],
        int,
    ),
    _option("--notsent-lowat", "BYTES", "What sockets take beyond what is sent.", 131_072, int),
    _option("--max-streams", "N", "Most streams of a client.", _VARIANT["multiplexing"]["streams"], int),
    click.option(
        "--access-log", metavar="FILE|-", type=paths.WRITTEN, help="Write a line of JSON for each request."
    ),
    _option("--idle", "SECONDS", "Leave connections on which nobody asks for anything.", 60, int),
    _option("--grace", "SECONDS", "How long what is under way may go on after Ctrl-C.", 10, int),
]


def _all(options: list[Callable[[Any], Any]]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def shared(command: Command) -> Command:
    """Add the options that all verbs have that load pages."""
    return _all([*_SHARED, *_RUN, KEEP_SECRETS, JSON])(command)


def gate(command: Command) -> Command:
    """Add the options that judge a comparison."""
    return _all(_GATE)(command)


def serving(command: Command) -> Command:
    """Add the options that say how a server behaves."""
    return _all(_SERVING)(command)


def of_serving(given: dict[str, Any]) -> dict[str, Any]:
    """Give the fields of a server's setting that the given options set."""
    return {field: given[name] for name, field in _OF_SERVING.items()}


def serving_option(field: str) -> str:
    """Say which option sets this field of a server's setting."""
    named = {field: f"--{name.replace('_', '-')}" for name, field in _OF_SERVING.items()}
    return {**named, "manifest": "--push-manifest"}.get(field, field)
