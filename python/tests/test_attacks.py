"""What `loadstone serve` and `loadstone edge` withstand, in a short form.

`scripts/attacks` compares them with others.
"""

import socket
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from attacks import bounds, floods, h2, http1, memory, relays, servers, spdy, table
from attacks.attack import Aim, Attack
from attacks.bystander import Latency
from attacks.measurement import Measured, measure
from attacks.protocol import Heard
from attacks.servers import make_site

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what a process costs is read from Linux")

FEW = 5
LOADSTONE = [sys.executable, "-m", "loadstone"]


def named(attacks: tuple[Attack, ...], name: str) -> Attack:
    """Give an attack by its protocol and name, from few connections."""
    attack = next(attack for attack in attacks if f"{attack.protocol.name}: {attack.name}" == name)
    return replace(attack, connections=min(FEW, attack.connections))


def cost_of_server(attack: Attack, folder: Path) -> Measured:
    make_site(folder)
    return measure(attack, servers.ours(LOADSTONE), folder)


def cost_of_relay(attack: Attack, folder: Path) -> Measured:
    make_site(folder)
    with servers.ours(LOADSTONE).running(folder, "http/1.1") as origin:
        return measure(attack, relays.found(LOADSTONE, origin.port)[0], folder)


HELD = pytest.mark.parametrize(
    "name",
    [
        "h2: ordinary requests, held",
        "h2: HPACK bomb, held",
        "h2: HPACK bomb of 15 references, held",
        "h2: HPACK bomb, each stream reset",
        "spdy/3.1: heads of 250 KB in 380 bytes, held",
        "http/1.1: 990 heads of 418 bytes behind a response",
        "http/1.1: 990 heads of 55 KB behind a response",
        "http/1.1: 60 KB of a head that does not end",
    ],
)
ATTACKED = pytest.mark.parametrize("attacked", [cost_of_server, cost_of_relay], ids=["serve", "edge"])


@ATTACKED
@HELD
def test_what_is_held_stays_within_its_bound(
    tmp_path: Path, name: str, attacked: Callable[[Attack, Path], Measured]
) -> None:
    attack = named(memory.ATTACKS, name)
    measured = attacked(attack, tmp_path)
    assert measured.sent > 1000 and measured.latency is not None, measured
    each = bounds.HELD_BY_EDGE if attacked is cost_of_relay else bounds.HELD_PER_CONNECTION
    assert measured.held <= bounds.held(attack, each), measured


@ATTACKED
def test_who_floods_is_told_to_calm_down(
    tmp_path: Path, attacked: Callable[[Attack, Path], Measured]
) -> None:
    measured = attacked(
        replace(named(floods.ATTACKS, "h2: rapid reset (CVE-2023-44487)"), repeats=1), tmp_path
    )
    assert measured.outcome.startswith("GOAWAY ENHANCE_YOUR_CALM (2 of 2 connections)"), measured


def test_an_edge_grants_windows_that_it_can_hold_for_every_client(tmp_path: Path) -> None:
    relay = relays.found(LOADSTONE, 1)[0]
    heard, came = Heard(), bytearray()
    with (
        relay.running(tmp_path, "h2") as running,
        socket.create_connection(("127.0.0.1", running.port), 10) as client,
    ):
        client.sendall(h2.PREFACE + h2.settings())
        while not heard.window[0]:
            said = client.recv(65_536)
            assert said, "it has closed"
            came += said
            h2.hear(came, heard)
    # RFC 9113, section 6.9.2: the window of a connection begins with 65,535 bytes.
    assert (heard.initial_window, 65_535 + heard.window[0]) == (256 * 1024, 1024 * 1024)


def test_numbers_and_the_dictionary_are_those_of_the_standards() -> None:
    # RFC 7541, appendix C.1.
    assert [h2.integer(10, 5), h2.integer(1337, 5), h2.integer(42, 8)] == [b"\x0a", b"\x1f\x9a\x0a", b"\x2a"]
    assert (len(spdy.DICTIONARY), zlib.adler32(spdy.DICTIONARY)) == (1423, 0xE3C6_A7C2)


def test_what_a_server_says_is_heard_however_it_is_cut() -> None:
    frames = h2.headers(1, b"\x88", h2.END_HEADERS) + h2.frame(h2.DATA, h2.END_STREAM, 1, b"hello")
    frames += h2.settings((h2.INITIAL_WINDOW_SIZE, 7)) + h2.window_update(3, 9) + h2.rst_stream(5)
    frames += h2.frame(h2.GOAWAY, 0, 0, bytes(7) + b"\x0b")
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    for hear, said in ((h2.hear, frames), (http1.hear, head + b"hi" + head)):
        heard, came = Heard(), bytearray()
        for byte in said:
            came.append(byte)
            hear(came, heard)
        assert (heard.answered, heard.completed) == (1, 1)
    heard = Heard()
    h2.hear(bytearray(frames), heard)
    assert (heard.initial_window, heard.window[3], heard.resets) == (7, 9, 1)
    assert heard.goaway == "ENHANCE_YOUR_CALM"


def cost(server: str, aim: Aim, held: int, seconds: float) -> Measured:
    attack = Attack("flood", h2.PROTOCOL, aim, list)
    return Measured(attack, server, 1_000_000, held, held, held, 0, seconds, Latency(1, 2), "takes all")


def test_shares_are_of_the_peer_that_the_bound_names() -> None:
    costs = {"loadstone": (600, 6.0), "nghttpd": (100, 1.5), "nginx": (200, 9.0)}
    of_memory = {name: cost(name, Aim.MEMORY, *values) for name, values in costs.items()}
    assert bounds.share(of_memory) == 600 / (3 * 200)
    of_processor = {name: cost(name, Aim.PROCESSOR, *values) for name, values in costs.items()}
    assert bounds.share(of_processor) == 6.0 / (2 * 1.5)
    assert bounds.share({"loadstone": of_memory["loadstone"]}) is None
    page = table.page([of_memory, of_processor], [], [], 20)
    assert "`loadstone serve` and, next" in page and "nghttpd's, or nginx's" in page
    assert "1 of 2 attacks exceed" in page and "| **2.00** | takes all |" in page and "| 1.00 |" in page


def test_relays_are_compared_with_the_relay_of_the_same_library() -> None:
    costs = {"loadstone": (0, 6.0), "nginx": (0, 9.0), "nghttpx": (0, 2.0)}
    row = {name: cost(name, Aim.PROCESSOR, *values) for name, values in costs.items()}
    assert bounds.share(row) == 6.0 / (2 * 2.0)
    page = table.page([row], [], [], 20, edge=True)
    assert page.startswith("# Attacks on relays") and "CPU: 2 times nghttpx's, at least" in page
