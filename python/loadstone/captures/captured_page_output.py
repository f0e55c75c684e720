"""A page that was made of a capture, and its network, as text: each figure with how sure it is."""

import shlex
from pathlib import Path

from loadstone import text, waterfall
from loadstone.captures.captured_page import PAGE, SCENARIO, CapturedPage
from loadstone.captures.inferred_network import InferredNetwork

_FEW_PACKETS = 45
"""Fewer are less than the busiest moment of a link has (64 KiB)."""


def waterfall_text(made: CapturedPage, width: int) -> str:
    """Draw when each object was asked for, and when it came."""
    columns, end_ms = made.waterfall, made.captured_ms
    if columns is None or end_ms is None:
        return "no waterfall: no request in the capture could be read"
    return waterfall.render(columns, end_ms, width)


def in_words(made: CapturedPage, folder: str | None) -> str:
    """Show page and network, and how they can be loaded."""
    lines = [*_page(made), "", text.table([["", "", "how sure"], *_figures(made)], left=3), "", *_loads(made)]
    if folder is not None:
        page, scenario = (shlex.quote(str(Path(folder, name))) for name in (PAGE, SCENARIO))
        network = shlex.quote(made.network_text)
        lines += [
            "",
            f"loadstone load --scenario {scenario}",
            f"loadstone compare {page} --network {network}",
        ]
    return "\n".join(lines)


def _page(made: CapturedPage) -> list[str]:
    summary = made.page.summary()
    said = f"{text.count(summary['objects'], 'object')}, {text.size(summary['bytes'])}"
    hosts = text.count(summary["hosts"], "host")
    lines = [f"page of {', '.join(made.capture.clients)}: {said}, {hosts}"]
    if made.capture.pages > 1:
        lines.append(
            f"the capture has {text.count(made.capture.pages, 'page load')} of this client: "
            "--page-number takes another"
        )
    if made.capture.requests and made.capture.unread:
        unread = text.count(made.capture.unread, "connection")
        lines.append(f"{unread} with data could not be read: what came on them is not in the page")
    return lines


def _figures(made: CapturedPage) -> list[list[str]]:
    network = made.network
    rows = [
        ["rate down", _mbit(network.down_bps), _sure_of_down(network)],
        [
            "rate up",
            _mbit(network.up_bps or network.down_bps),
            "by how much later data was acknowledged than handshakes, within 15 %"
            if network.up_bps
            else "not known: taken as that of the way down",
        ],
    ]
    distances = sorted(network.round_trips_ms.items(), key=lambda each: each[1])
    rows += [
        [f"round trip to {address}", text.ms(ms), "the least, of handshakes where there are any"]
        for address, ms in distances
    ]
    up_pct = 100 * network.again_up / network.segments_up if network.segments_up else 0.0
    rows += [
        [
            "lost down",
            f"{network.lost_pct:.2f} %",
            f"at least: {network.lost:,} of {text.count(network.segments, 'packet')} came a round trip late",
        ],
        ["sent again up", f"{up_pct:.2f} %", "at most: what is sent again may have arrived"],
        ["lost at random", f"{made.random_loss_pct:.1f} %", _sure_of_chance(network)],
        ["queue", _queue(network), _sure_of_queue(network)],
    ]
    return rows


def _mbit(bps: int) -> str:
    return f"{bps / 1e6:,.2f} Mbit/s"


def _sure_of_down(network: InferredNetwork) -> str:
    if network.down_is_full:
        return "so fast came packets that had waited for the link"
    if network.segments < _FEW_PACKETS:
        return "at least, and maybe much more: too few packets came to tell"
    return "at least: nothing waited for the link"


def _queue(network: InferredNetwork) -> str:
    if (room := network.queue_bytes) is not None:
        return text.size(room)
    return "-" if network.waited_ms is None else text.ms(network.waited_ms)


def _sure_of_queue(network: InferredNetwork) -> str:
    if network.queue_is_full:
        return f"losses came where packets waited longest, {text.ms(network.waited_ms)}"
    if network.waited_ms is None:
        return "not known: no packet has timestamps, or none came without a pause"
    return "at least: so long packets waited, and it was never full"


def _sure_of_chance(network: InferredNetwork) -> str:
    if network.lost_at_random is None:
        return "what the simulator's queues do not drop: how long packets waited is not known"
    if network.queue_is_full:
        return "what was lost while packets waited less than long"
    return "all that was lost down: the queue was never full"


def _loads(made: CapturedPage) -> list[str]:
    simulated = made.simulated
    said = f"simulated: {text.ms(simulated.plt_ms)}"
    if simulated.range_ms is not None and simulated.range_ms[0] < simulated.range_ms[1]:
        least, most = map(text.ms, simulated.range_ms)
        said += f", the median of loads from {least} to {most}"
    if (captured := made.captured_ms) is not None and simulated.plt_ms is not None:
        said += f" ({100 * (simulated.plt_ms / captured - 1):+.1f} %)"
        where = "in the capture" if made.capture.requests else "in the HAR"
        said = f"{where}: {text.ms(captured)}; {said}"
    return [f"network: {made.network_text}", said]
