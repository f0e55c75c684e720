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
    help="Requests for the host NAME, or NAME:PORT, go to the server of the URL; "
    "give it again for more names and servers.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help=f"Where it listens; port 0 is one that is free.  [default: {options.LISTEN}]",
)
@fronts.tls
@click.option(
    "--cacert",
    metavar="FILE",
    type=paths.READ,
    help="Trust the certificates in it (PEM) for origins by https, not the system's.",
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
    """Relay requests by HTTP/1.1, SPDY and HTTP/2 to origins by HTTP/1.1.

    The host that a request names says which origin it goes to. FILE is TOML with all settings of an edge
    (docs/edge.md); options come before it. SIGHUP lets it read them again. It relays until
    Ctrl-C, then leaves: a second one ends it.
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
