"""What the verbs that serve strangers have in common: their certificates, and how they run until Ctrl-C."""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from loadstone import paths, text
from loadstone._native import Server
from loadstone.cli.console import say

_TLS = (
    click.option(
        "--plaintext",
        is_flag=True,
        help="No TLS: clients use http/1.1, or the --protocol without negotiation.",
    ),
    click.option(
        "--cert",
        metavar="FILE",
        type=paths.READ,
        help="Certificate chain in PEM.  [default: one is generated]",
    ),
    click.option("--key", metavar="FILE", type=paths.READ, help="Private key of the certificate, in PEM."),
    click.option(
        "--save-ca",
        metavar="FILE",
        type=paths.WRITTEN,
        help="Write the CA certificate that clients have to trust to this file, in PEM.",
    ),
)


def tls(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of certificates."""
    for option in reversed(_TLS):
        command = option(command)
    return command


def check(plaintext: bool, *of_tls: str | None) -> None:
    """Refuse options of certificates where there is no TLS."""
    if plaintext and any(of_tls):
        raise click.UsageError("--cert, --key and --save-ca are for TLS: leave out --plaintext.")


def run(
    server: Server,
    ways: Iterable[str],
    save_ca: str | None,
    *,
    is_stdout_taken: bool,
    reload: Callable[[], None] | None = None,
) -> None:
    """Save what clients have to trust, say how they come to the server, and run it until it leaves.

    Standard output may be taken by the access log. SIGHUP asks for `reload`.
    """
    from loadstone import files, serving

    if save_ca is not None:
        with files.replacement(save_ca, serving.CERTIFICATE) as write:
            write(serving.authority(server))
    for line in ways:
        click.echo(text.harmless(line), err=is_stdout_taken)
    sys.stdout.flush()
    if cut := serving.run(server, reload):
        say(f"{text.count(cut, 'connection')} cut off: give clients more time with --grace")
