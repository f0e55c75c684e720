"""The verbs `serve`, `manifest` and `fetch`: a server, what it tells ahead, and what others answer."""

from pathlib import Path
from typing import Any

import click

from loadstone import options, paths
from loadstone._native import protocols
from loadstone.cli import fronts
from loadstone.cli.console import FAILED, INTERRUPTED, Verb, emit, examples, say

_COUNT = click.IntRange(1, 10_000_000)


@click.command(
    cls=Verb,
    epilog=examples(
        "serve site --listen localhost:8443 --save-ca ca.pem",
        "serve shop.har --listen 0.0.0.0:443 --access-log -",
        "serve --patterns --plaintext --protocol h2 --listen 127.0.0.1:8080",
        "serve site --push-manifest push.json --protocol spdy/3.1",
    ),
)
@click.argument("source", metavar="[DIR|RECORDING]", required=False, type=paths.PAGE)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default=options.LISTEN,
    show_default=True,
    help="Address to listen on; port 0 means any free port.",
)
@click.option(
    "--patterns",
    is_flag=True,
    help="Also answer /bytes/N, /echo, /push/N and /pushed/I (docs/serving.md).",
)
@click.option(
    "--dotfiles",
    is_flag=True,
    help="Also serve files and directories whose names begin with a dot.  [default: only /.well-known/]",
)
@options.manifest
@fronts.tls
@options.KEEP_SECRETS
@options.serving
def serve(
    source: str | None,
    listen: str,
    patterns: bool,
    dotfiles: bool,
    push_manifest: str | None,
    hints: bool,
    plaintext: bool,
    cert: str | None,
    key: str | None,
    save_ca: str | None,
    keep_secrets: bool,
    **given: Any,
) -> None:
    """Serve files or a recorded page, by any protocol on one port.

    The protocols are HTTP/1.1, SPDY and HTTP/2. DIR is a directory of files. RECORDING is a PAGE, whose
    objects are served with their recorded heads and lengths; a file of `loadstone record` (.wacz) or the
    directory of a built site (with site.json) is served with its bodies, too. Ctrl-C (SIGINT) or SIGTERM
    shuts the server down after the requests in progress, a second one at once.
    """
    from loadstone import serving
    from loadstone.recording import served

    if source is None and not patterns:
        raise click.UsageError("Missing argument '[DIR|RECORDING]': give one, or --patterns.")
    fronts.check(plaintext, cert, key, save_ca)
    recording = served.read([source]) if source is not None and served.has_bodies(source) else None
    if dotfiles and (recording or not (source and Path(source).is_dir())):
        raise click.UsageError("--dotfiles is for the files of a directory: give one, or leave it out.")
    fields = {
        "dotfiles": "served" if dotfiles else "hidden",
        "patterns": patterns,
        "manifest": serving.manifest(push_manifest),
        "telling": "hint" if hints else "push",
        "front.transport": "plaintext" if plaintext else "tls",
        "front.identity": serving.identity(cert, key),
        **options.of_serving(given),
    }
    made = serving.setting(None if recording else source, listen, fields, keep_secrets=keep_secrets)
    site = recording.site() if recording else None
    server = serving.open_server(made, site)
    ways = [*(recording.notices if recording else ()), *serving.ways(server, made, site)]
    fronts.run(server, ways, save_ca, is_stdout_taken=given["access_log"] == "-")
    if site is not None:
        for line in served.in_words(served.report(site)):
            say(line)


@click.command(
    cls=Verb,
    epilog=examples(
        "manifest shop.wacz > push.json",
        "manifest shop.wacz --push embedded --push-levels 2 > push.json",
        "manifest shop.wacz --hint all --preconnect hosts > hints.json",
    ),
)
@click.argument("page", metavar="PAGE", type=paths.PAGE)
@options.PUSH
@options.PUSH_LEVELS
@options.HINT
@options.PRECONNECT
@options.KEEP_SECRETS
def manifest(page: str, keep_secrets: bool, **given: Any) -> None:
    """Write a manifest of the objects to push or hint with PAGE.

    The manifest is JSON for `loadstone serve --push-manifest`; if it is made with --hint or --preconnect,
    give --hints there as well. You can edit it. Servers push only their own objects, and hint at any. To
    see what that gains, use `loadstone compare PAGE --vary push=nothing,embedded`.
    """
    from loadstone import pages, serving

    for hint in ("hint", "preconnect"):
        if given[hint] is not None and given["push"] is not None:
            raise click.UsageError(
                f"--push and --{hint}: a manifest is for one of them: leave out the other."
            )

    emit(serving.written_manifest(pages.read(page, keep_secrets=keep_secrets), given))


@click.command(
    cls=Verb,
    epilog=examples(
        "fetch https://a.test/ https://a.test/logo.png --protocol h2 --push",
        "fetch http://127.0.0.1:8080/10k --protocol spdy/3.1 --repeat 100000 --concurrency 100",
        "fetch --urls list.txt --resolve a.test:443:127.0.0.1 --insecure --json",
        "fetch --probe-window https://a.test/",
        "fetch https://a.test/form --data answers.json --header 'content-type: application/json'",
    ),
)
@click.argument("urls", metavar="[URL]...", nargs=-1)
@click.option(
    "--protocol",
    metavar="PROTOCOL",
    help=f"One of {', '.join(protocols())}: the only one that TLS offers; without TLS it is used without "
    "negotiation.  [default: h2 or http/1.1, as the server chooses; without TLS http/1.1]",
)
@click.option(
    "--urls",
    "listed",
    metavar="FILE",
    type=paths.READ,
    help="Also fetch the URLs in FILE: one URL per line, optionally followed by its priority; - is "
    "standard input.",
)
@click.option("--repeat", metavar="N", type=_COUNT, default=1, help="Request each URL N times.  [default: 1]")
@click.option(
    "--concurrency",
    metavar="N",
    type=_COUNT,
    help="Maximum number of outstanding requests on a connection.  [default: as the protocol and the "
    "server allow]",
)
@click.option(
    "--connections",
    metavar="N",
    type=click.IntRange(1, 10_000),
    default=1,
    help="Number of connections to a server, with HTTP/1.1 without pipelining; other protocols use one.  "
    "[default: 1]",
)
@click.option(
    "--priority",
    "priorities",
    metavar="U[i]",
    multiple=True,
    help="Priority (RFC 9218): urgency, 0 (highest) to 7, and i for incremental. One for all URLs or, if "
    "repeated, one for each URL in turn.  [default: 3]",
)
@click.option(
    "--data",
    metavar="FILE",
    type=paths.READ,
    help="Send this file as the body, by POST; - is standard input.",
)
@click.option("--method", metavar="M", help="Request method.  [default: GET; with --data POST]")
@click.option(
    "--header",
    "headers",
    metavar="'NAME: VALUE'",
    multiple=True,
    help="Send this header field as well. May be repeated.",
)
@click.option("--push", is_flag=True, help="Allow servers to push, and show what they push.")
@click.option("--ping", is_flag=True, help="Measure the round trip of each connection with a PING frame.")
@click.option(
    "--tls",
    metavar="1.2|1.3",
    help="Use only this version of TLS.  [default: the highest that the server has]",
)
@click.option(
    "--resolve",
    "places",
    metavar="HOST:PORT:ADDRESS",
    multiple=True,
    help="Connect to ADDRESS for this host and port, instead of looking the name up. May be repeated.",
)
@click.option("--insecure", is_flag=True, help="Accept any certificate.")
@click.option(
    "--cacert",
    metavar="FILE",
    type=paths.READ,
    help="Trust the CA certificates in FILE (PEM), not the system's.",
)
@click.option(
    "--output",
    metavar="DIR",
    type=paths.WRITTEN_FOLDER,
    help="Write bodies to this directory, each to a file of its own.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(0, 1e6, min_open=True),
    default=30.0,
    help="End after this many seconds, even if responses are missing.  [default: 30]",
)
@click.option(
    "--probe-window",
    is_flag=True,
    help="Instead of fetching, measure the initial window of each server: how much it sends before it "
    "receives an ACK. Needs root; works with URLs, --resolve, --timeout (for names) and --json "
    "(docs/fetch.md).",
)
@options.JSON
@click.pass_context
def fetch(
    context: click.Context,
    urls: tuple[str, ...],
    protocol: str | None,
    listed: str | None,
    repeat: int,
    concurrency: int | None,
    connections: int,
    priorities: tuple[str, ...],
    data: str | None,
    method: str | None,
    headers: tuple[str, ...],
    push: bool,
    ping: bool,
    tls: str | None,
    places: tuple[str, ...],
    insecure: bool,
    cacert: str | None,
    output: str | None,
    timeout: float,
    probe_window: bool,
    as_json: bool,
) -> None:
    """Fetch URLs from real servers, by any protocol.

    Prints size, SHA-256 and times of each response. URLs with the same scheme, host and port share a
    connection. http:// URLs are requested without TLS, whatever the protocol. Exit code 0: every request
    was answered, with whatever status; 1: one was not; 130: Ctrl-C, after which the responses so far are
    printed.
    """
    from loadstone import fetch as fetching

    if probe_window:
        _probe_windows(context, urls, places, timeout, as_json)
        return
    if data == "-" and listed == "-":
        raise click.UsageError("--data and --urls cannot both be standard input: give one as a file.")
    wanted = {
        "urls": urls,
        "listed": None if listed is None else fetching.listed(listed),
        "priorities": priorities,
        "protocol": protocol,
        "tls": tls,
        "method": method or ("GET" if data is None else "POST"),
        "headers": headers,
        "repeat": repeat,
        "connections": connections,
        "concurrency": concurrency,
        "resolve": places,
        "insecure": insecure,
        "push": push,
        "ping": ping,
        "timeout": timeout,
        "output": output,
    }
    body = None if data is None else fetching.content(data)
    fetched = fetching.fetch(wanted, body, None if cacert is None else fetching.content(cacert))
    if as_json:
        click.echo(fetched.came.to_json())
    else:
        emit(fetching.table(fetched.came))
    if fetched.interrupted:
        raise click.exceptions.Exit(INTERRUPTED)
    if fetched.came.failed:
        raise click.exceptions.Exit(FAILED)


def _probe_windows(
    context: click.Context, urls: tuple[str, ...], places: tuple[str, ...], timeout: float, as_json: bool
) -> None:
    from loadstone import initial_windows

    for option in context.command.params:
        is_given = context.get_parameter_source(option.name or "") == click.core.ParameterSource.COMMANDLINE
        if is_given and option.name not in ("urls", "places", "timeout", "probe_window", "as_json"):
            raise click.UsageError(f"{option.opts[0]} is not for --probe-window: leave one of them out.")
    probed = initial_windows.probe(urls, places, timeout)
    emit(initial_windows.document(probed) if as_json else initial_windows.in_words(probed))
    if probed.interrupted:
        raise click.exceptions.Exit(INTERRUPTED)
    if any(server.failure for server in probed.servers):
        raise click.exceptions.Exit(FAILED)
