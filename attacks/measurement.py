"""Runs an attack on a server, and measures what it costs."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attacks.attack import Attack
from attacks.bystander import Asked, Latency, latency, watching
from attacks.client import Client, turn
from attacks.servers import Running, Server

QUIET = 0.4
"""Seconds before the attack, by which is known what the other client costs."""
SENDING = 3.0
"""Seconds after which no more is sent."""
STUCK = 0.7
"""Seconds without a byte taken, after which a server is taken not to want more."""
LATE = 0.1
"""Seconds in which a server may close after it has taken all."""
STEP = 0.2
IDLE = 0.01
"""Processor time in a step below which a server has done its work; the other client needs a fifth of it."""
WORKING = 20.0
"""Seconds that a server may still work on what was sent."""


@dataclass(frozen=True)
class Measured:
    """What an attack cost a server."""

    attack: Attack
    server: str
    sent: int
    held: int
    """Bytes of memory more than before, while the attacker's connections were open."""
    peak: int
    after: int
    """And after they were closed."""
    left: int
    """Connections that the server has not given up then."""
    seconds: float
    """Processor time, without what the other client took."""
    latency: Latency | None
    """What the other client waited meanwhile."""
    outcome: str

    @property
    def seconds_per_mb(self) -> float:
        """Give the server's processor time for each million bytes of the attacker."""
        return self.seconds / max(self.sent, 1) * 1e6


def measure(attack: Attack, server: Server, folder: Path) -> Measured:
    """Start the server, attack it, and end it."""
    pieces = attack.pieces()
    protocol = attack.protocol.name
    with server.running(folder, protocol) as running, watching(running.port, protocol) as other:
        other.wait()
        quiet, spent = time.monotonic(), running.seconds
        time.sleep(QUIET)
        begin, before = time.monotonic(), running.seconds
        resident, connections = running.resident, running.connections
        running.forget_peak()
        clients = send(attack, pieces, running.port)
        settle(running, clients)
        end, done, held = time.monotonic(), running.seconds, running.resident
        for client in clients:
            # Who does not read hears now whether the connection is still there.
            client.read()
            client.socket.close()
        settle(running, [])
        after, peak = running.resident, running.peak
        left = running.connections - connections
        noted, alive = other.noted(), running.alive
    each = (before - spent) / max(_asked(noted, quiet, begin), 1)
    return Measured(
        attack=attack,
        server=server.name,
        sent=sum(client.sent for client in clients),
        held=held - resident,
        peak=peak - resident,
        after=after - resident,
        left=max(left, 0),
        seconds=max(done - before - each * _asked(noted, begin, end), 0.0),
        latency=latency(noted, begin, end),
        outcome=outcome(clients) if alive else "**the server ended**",
    )


def send(attack: Attack, pieces: Sequence[bytes], port: int) -> list[Client]:
    """Send until all is sent, the time is over, or no server takes more; give all connections there were."""

    def connect() -> Client:
        return Client(port, attack.protocol, pieces, attack.pace, attack.reads)

    clients = [connect() for _ in range(attack.connections)]
    now = time.monotonic()
    end, moved, sent = now + SENDING, now, 0
    while (now := time.monotonic()) < min(end, moved + STUCK):
        turn(clients)
        if (total := sum(client.sent for client in clients)) > sent:
            moved, sent = now, total
        if attack.repeats and not clients[-1].open:
            if len(clients) > attack.repeats:
                break
            clients[-1].socket.close()
            clients.append(connect())
        elif all(client.done for client in clients) and now > moved + LATE:
            break
    for client in clients:
        client.stopped = True
    return clients


def settle(server: Running, clients: Sequence[Client]) -> None:
    """Wait until the server has done what there was to do; hear what it says."""
    deadline, idle = time.monotonic() + WORKING, 0
    # One step without work may be one without a processor, where others are busy too.
    while idle < 2 and time.monotonic() < deadline:
        before, step = server.seconds, time.monotonic() + STEP
        while time.monotonic() < step:
            turn(clients)
        idle = idle + 1 if server.seconds - before < IDLE else 0


def outcome(clients: Sequence[Client]) -> str:
    """Say in words what the server did."""
    heard = [client.heard for client in clients]
    said = Counter[str]()
    for one in heard:
        if one.goaway is not None:
            said[f"GOAWAY {one.goaway}"] += 1
        elif one.closed is not None:
            said[one.closed] += 1
    words = [
        name if len(clients) == 1 else f"{name} ({count:,} of {len(clients):,} connections)"
        for name, count in said.items()
    ]
    statuses = sum((one.statuses for one in heard), Counter[int]())
    answered = sum(one.answered for one in heard)
    by_status = " (" + ", ".join(f"{count:,} x {status}" for status, count in sorted(statuses.items())) + ")"
    counts = {
        "answered" + (by_status if statuses else ""): answered,
        "reset": sum(one.resets for one in heard),
        "acknowledged": sum(one.acknowledged for one in heard) if not answered else 0,
    }
    words += [f"{count:,} {name}" for name, count in counts.items() if count]
    if any(not client.done for client in clients):
        words.append("does not take all")
    elif all(client.open for client in clients):
        words.append("takes all")
    return "; ".join(words)


def _asked(noted: Sequence[Asked], begin: float, end: float) -> int:
    return sum(begin <= asked.at < end for asked in noted)
