"""The command: all attacks on all servers, as one table."""

import argparse
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attacks import floods, memory, relays, servers, table
from attacks.attack import Attack
from attacks.measurement import Measured, measure
from attacks.servers import Server, make_site

DOCS = Path(__file__).parents[1] / "docs"
PEERS = {"nghttpd": "nghttp2-server", "nginx": "nginx"}
"""With Debian's packages."""
PEERS_OF_EDGE = {"nghttpx": "nghttp2-proxy", "nginx": "nginx"}
ATTACKS = memory.ATTACKS + floods.ATTACKS


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/attacks", description=__doc__)
    parser.add_argument(
        "--loadstone",
        metavar="COMMAND",
        default=shlex.join([sys.executable, "-m", "loadstone"]),
        help="the loadstone that is attacked; this environment's if left out",
    )
    parser.add_argument(
        "--edge", action="store_true", help="attack `loadstone edge` and other relays, not servers"
    )
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="attacks whose protocol or name has this in it"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="else the page in docs, or, with --only, the terminal",
    )
    return parser.parse_args()


def run(attack: Attack, servers: list[Server], folder: Path) -> dict[str, Measured]:
    """Run an attack on every server that speaks its protocol."""
    measured = {}
    for server in servers:
        if attack.protocol.name in server.protocols:
            sys.stderr.write(f"attacks: {attack.protocol.name}: {attack.name}, {server.name}\n")
            measured[server.name] = measure(attack, server, folder)
    return measured


@contextmanager
def targets(loadstone: list[str], folder: Path, *, edge: bool) -> Iterator[list[Server]]:
    """Give what is attacked; before relays, the server behind them is started."""
    if not edge:
        yield servers.found(loadstone)
        return
    with servers.ours(loadstone).running(folder, "http/1.1") as origin:
        yield relays.found(loadstone, origin.port)


def main() -> None:
    """Run the attacks and write the page."""
    # Who is told to end ends its servers first, as with Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = arguments()
    chosen = [attack for attack in ATTACKS if given.only in f"{attack.protocol.name}: {attack.name}"]
    if not chosen:
        raise SystemExit(f"attacks: none has '{given.only}' in its name")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_site(folder)
        with targets(shlex.split(given.loadstone), folder, edge=given.edge) as found:
            peers = PEERS_OF_EDGE if given.edge else PEERS
            missing = [name for name in peers if name not in {server.name for server in found}]
            for name in missing:
                sys.stderr.write(f"attacks: no {name}, its rows are left out: install {peers[name]}\n")
            rows = [run(attack, found, folder) for attack in chosen]
            versions = [server.version for server in found]
    repeats = max(attack.repeats for attack in ATTACKS)
    written = table.page(rows, versions, missing, repeats, edge=given.edge)
    output = given.output or (None if given.only else DOCS / f"attacks{'-on-edge' * given.edge}.md")
    if output is None:
        sys.stdout.write(written)
    else:
        output.write_text(written)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        # What was started has been ended on the way here.
        raise SystemExit(130) from None
