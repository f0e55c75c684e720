"""Writes what was measured as a page."""

import os
import platform
from collections.abc import Mapping, Sequence

from attacks import bounds
from attacks.attack import Aim
from attacks.measurement import Measured

SERVERS = """# Attacks

Made by `scripts/attacks`; do not edit. Each attack is run on `loadstone serve` and, next to it, on nghttpd
and nginx (one worker), without TLS, on loopback, each time on a server just started. {missing}All attacks are
in [attacks](../attacks). [attacks-on-edge.md](attacks-on-edge.md) is the same for `loadstone edge`.
"""
RELAYS = """# Attacks on relays

Made by `scripts/attacks --edge`; do not edit. Each attack is run on `loadstone edge` and, next to it, on
nghttpx and nginx (one worker). All relay to one `loadstone serve` by HTTP/1.1, have no cache and run with
their defaults, without TLS, on loopback, each time just started. What the server behind costs is not counted.
{missing}All attacks are in [attacks](../attacks). [attacks.md](attacks.md) is the same for `loadstone serve`.
"""
COLUMNS_EXPLAINED = """

- **sent**: bytes of the attacker that the system took.
- **held**, **peak**, **after**: growth of the server's resident memory, while the attacker's connections are
  open, at most, and after they are closed (`VmRSS`, `VmHWM`).
- **CPU**: processor time of the server per MB sent, without that for the other client. If the server closes
  the connection of a flood, the attacker connects again, up to {repeats} times.
- **other client**: how long another client, at an address of its own, waits for a small file, which it asks
  for every 10 ms: median and worst, in ms. All processes share {cores} cores, so the attacker's own
  work is in it.
- **of bound**: what of its bound Loadstone uses. Memory: {memory:g} times the *held* of that peer which holds
  more. CPU: {processor:g} times {peer}, at least {noticeable:g} s/MB: less is
  noise. **Bold** exceeds it. SPDY has no peer.

{exceeded}

"""
COLUMNS = (
    "attack",
    "server",
    "connections",
    "sent, MB",
    "held, MB",
    "peak, MB",
    "after, MB",
    "CPU, s/MB",
    "other client, ms",
    "of bound",
    "what the server did",
)
TITLES = {Aim.MEMORY: "Memory", Aim.PROCESSOR: "Processor time"}

Row = Mapping[str, Measured]
"""One attack, by server."""


def page(
    rows: Sequence[Row], versions: Sequence[str], missing: Sequence[str], repeats: int, *, edge: bool = False
) -> str:
    """Write the page on servers, or the one on relays."""
    lines = [_joined(COLUMNS), _joined(["---"] * len(COLUMNS))]
    aim = None
    for row in rows:
        attack = row["loadstone"].attack
        if attack.aim is not aim:
            aim = attack.aim
            lines.append(_joined([f"**{TITLES[aim]}**", *[""] * (len(COLUMNS) - 1)]))
        share = bounds.share(row)
        lines += [_line(measured, share) for measured in row.values()]
    head = ((RELAYS if edge else SERVERS) + COLUMNS_EXPLAINED).format(
        peer="nghttpx's" if edge else "nghttpd's, or nginx's with HTTP/1.1",
        missing="".join(f"{name} is missing on this machine. " for name in missing),
        repeats=repeats,
        cores=os.cpu_count(),
        memory=bounds.MEMORY,
        processor=bounds.PROCESSOR,
        noticeable=bounds.NOTICEABLE,
        exceeded=_exceeded(rows),
    )
    # The version alone: what is behind it is the machine's own.
    system = f"{platform.system()} {platform.release().split('-')[0]}"
    return head + "\n".join(lines) + f"\n\nMeasured on {system}: {', '.join(versions)}.\n"


def _exceeded(rows: Sequence[Row]) -> str:
    judged = [share for row in rows if (share := bounds.share(row)) is not None]
    return f"{sum(share > 1 for share in judged)} of {len(judged)} attacks exceed their bound."


def _line(measured: Measured, share: float | None) -> str:
    ours, attack = measured.server == "loadstone", measured.attack
    waited = measured.latency
    cells = [
        f"{attack.protocol.name}: {attack.name}" if ours else "",
        measured.server,
        f"{attack.connections}" if ours else "",
        _number(measured.sent / 1e6),
        *(f"{size / 1e6:+.1f}" for size in (measured.held, measured.peak, measured.after)),
        f"{measured.seconds_per_mb:.4f}",
        f"{waited.median:.1f}, {waited.worst:.0f}" if waited else "none answered",
        _share(share) if ours else "",
        measured.outcome
        + (f"; still has {measured.left} of the closed connections" if measured.left else ""),
    ]
    return _joined(cells)


def _joined(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _share(share: float | None) -> str:
    if share is None:
        return "no peer"
    text = f"{share:.2f}" if share < 10 else f"{share:,.0f}"
    return f"**{text}**" if share > 1 else text
