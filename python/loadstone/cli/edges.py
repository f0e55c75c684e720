"""The verb `edge`: a reverse proxy in front of servers that are known by name."""

from typing import Any

import click

from loadstone import options, paths
from loadstone.cli import fronts
from loadstone.cli.console import Verb, examples, say


@click.command(
    cls=Verb,
    epilog=examples(
        "edge --origin www.a.test=http://127.0.0.1:8080 --save-ca ca.pem",
        "edge --listen 0.0.0.0:443 --cert chain.pem --key key.pem --origin a.test=https://10.0.0.7",
        "edge edge.toml --access-log -",
    ),
)
@click.argument("file", metavar="[FILE]", required=False, type=paths.READ)
@click.option(
    "--origin",
    "origins",
    metavar="NAME=URL",
    multiple=True,
    help="Send requests for the host NAME, or NAME:PORT, to the server at URL. Repeat it for more names, "
    "and for more servers of a name.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help=f"Address to listen on; port 0 means any free port.  [default: {options.LISTEN}]",
)
@fronts.tls
@click.option(
    "--cacert",
    metavar="FILE",
    type=paths.READ,
    help="Trust the CA certificates in FILE (PEM) for https origins, not the system's.",
)
@options.edge
def edge(
    file: str | None,
    origins: tuple[str, ...],
    listen: str | None,
    plaintext: bool,
    cert: str | None,
    key: str | None,
    save_ca: str | None,
    cacert: str | None,
    **given: Any,
) -> None:
    """Run a reverse proxy for HTTP/1.1, SPDY and HTTP/2.

    The host that a request names decides which origin it goes to, by HTTP/1.1 or, with --origin-protocol
    h2, by HTTP/2. FILE is TOML with all settings of an edge (docs/edge.md); options override it. SIGHUP
    reads the settings again. Ctrl-C (SIGINT) or SIGTERM shuts the edge down after the requests in progress,
    a second one at once.
    """
    from loadstone import edge as edges

    fronts.check(plaintext, cert, key, save_ca)
    fields = {
        "front.listen": listen,
        "front.transport": "plaintext" if plaintext else None,
        "front.cert": cert,
        "front.key": key,
        "behind.cacert": cacert,
        **options.of_edge(given),
    }
    server = edges.open_edge(file, origins, fields)
    fronts.run(
        server,
        server.ways,
        save_ca,
        is_stdout_taken=server.logs_to_standard_output,
        reload=lambda: say(edges.reload(server)),
    )
