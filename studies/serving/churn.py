# ruff: noqa: T201
"""What is left of ten thousand connections that were opened and dropped at random: nothing, it should be.

    .venv/bin/python studies/serving/churn.py > studies/serving/churn.md

Waves of connections to `loadstone serve`, several hundred at a time: some say nothing, some stop in the
middle of TLS's handshake, of HTTP/2's preface or of a head, some ask for a megabyte and never read it, some
read a little of it, some reset, some do as they should. After each wave the server's memory and its
connections are looked at.
"""

import random
import socket
import ssl
import struct
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from cost import prepare
from measured_servers import Running, any_certificate, free_port, running

WAVES = 5
CONNECTIONS = 10_000
AT_ONCE = 500
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"


def asking(path: bytes) -> bytes:
    """Write HEADERS of stream 1, which asks for `path`."""
    block = b"\x82\x87\x41\x01a" + b"\x04" + bytes([len(path)]) + path
    return len(block).to_bytes(3) + b"\x01\x05" + b"\0\0\0\x01" + block


def misbehave(connection: socket.socket, choice: random.Random) -> None:
    """Do one of the things that clients do."""
    match choice.randrange(7):
        case 0:
            pass
        case 1:
            connection.sendall(PREFACE[: choice.randrange(len(PREFACE))])
        case 2:
            head = asking(b"/1048576")
            connection.sendall(PREFACE + head[: choice.randrange(len(head))])
        case 3:
            connection.sendall(PREFACE + asking(b"/1048576"))
        case 4:
            connection.sendall(PREFACE + asking(b"/1048576"))
            connection.recv(choice.randrange(1, 5_000))
        case 5:
            connection.sendall(PREFACE + asking(b"/10240"))
            while b"\0\0\0\x01" not in connection.recv(65_536):
                pass
        case _:
            # A reset instead of an end.
            connection.sendall(PREFACE)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def wave(server: Running, choice: random.Random, context: ssl.SSLContext | None) -> None:
    """Open and drop connections at random."""
    alive: list[socket.socket] = []
    for _ in range(CONNECTIONS):
        connection: socket.socket = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        if context is not None and choice.random() < 0.9:
            connection = context.wrap_socket(connection, server_hostname="localhost")
        elif context is not None:
            connection.sendall(b"\x16\x03\x01\x02\0"[: choice.randrange(6)])
            alive.append(connection)
            continue
        misbehave(connection, choice)
        alive.append(connection)
        while len(alive) > AT_ONCE:
            alive.pop(choice.randrange(len(alive))).close()
    for connection in alive:
        connection.close()


def held(server: Running) -> int:
    """Count the sockets that the server has, but for those that it always has."""
    links = (link.readlink() for link in Path(f"/proc/{server.pid}/fd").iterdir() if link.is_symlink())
    return sum(str(link).startswith("socket:") for link in links)


def main() -> None:
    """Run the waves in plaintext, then over TLS."""
    choice = random.Random(1)
    context = any_certificate()
    print("# Connections that come and go\n\nMade by `studies/serving/churn.py`, which says how.\n")
    print(f"Waves of {CONNECTIONS:,} connections, {AT_ONCE} at a time.\n")
    print("| wave | plaintext: memory, MB | sockets | TLS: memory, MB | sockets |\n|---|---|---|---|---|")
    with TemporaryDirectory() as folder:
        bench = prepare(Path(folder))
        columns = []
        for tls in (None, context):
            port = free_port()
            with running(bench.loadstone(port, tls=tls is not None), port) as server:
                cells = [(server.resident, held(server))]
                for _ in range(WAVES):
                    wave(server, choice, tls)
                    # Those that the server has still to give up: its limits are ten seconds and sixty.
                    deadline = time.monotonic() + 90
                    while held(server) > cells[0][1] and time.monotonic() < deadline:
                        time.sleep(0.5)
                    cells.append((server.resident, held(server)))
            columns.append(cells)
    for number, ((plain, sockets), (secret, more)) in enumerate(zip(*columns, strict=True)):
        print(f"| {number or 'before'} | {plain / 1e6:.1f} | {sockets} | {secret / 1e6:.1f} | {more} |")


if __name__ == "__main__":
    main()
