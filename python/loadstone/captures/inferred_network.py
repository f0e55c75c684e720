"""The network that a capture at a client tells of: rates, round trips, losses, the queue.

Each figure says how sure it is. A capture sees what came through the link and when, and not what might have.
"""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from loadstone._native import busiest_moment
from loadstone.captures import queue_waits
from loadstone.captures.client_capture import ClientCapture
from loadstone.captures.missing_segments import lost_segments
from loadstone.captures.queue_waits import FULL_PACKET, FullQueue
from loadstone.files import InputError

USUAL_QUEUE_MS = 100.0
"""What networks have where nothing else is said (docs/networks.md)."""

_ROOM = 2.0
"""A queue that was never full is taken to have so many times the room that was seen of it."""

_BARE_HEAD = {4: 40, 6: 60}
"""Bytes of the headers of IP and TCP without options."""
_TIMESTAMPS = 12
_LEAST_DELAY_MS = 1.0
"""What takes less longer than a handshake says nothing of the rate up: clocks and machines are coarser."""
_LEAST_SEGMENT = 300
_HANDSHAKE_PACKET = 60
"""Bytes of a SYN with its options, in IPv4."""
_AGREE = 0.2
"""Figures that differ by less than this share agree; so many have to."""
_LEAST_AGREEING = 3


@dataclass(frozen=True)
class InferredNetwork:
    """What a capture tells of the network between a client and its servers."""

    down_bps: int
    """The rate of the busiest moment, or of packets that had waited; with the heads of packets."""
    down_is_full: bool
    """Whether packets that had waited came as fast: then it is the link's rate, else that at least."""
    up_bps: int | None
    """By how much longer packets with data took than handshakes; `None` if that says nothing."""
    round_trips_ms: Mapping[str, float]
    """The least to each server's address."""
    segments: int
    """Packets with data that came down, or were lost on the way: as many as the link carried."""
    lost: int
    """Of these, those that certainly were lost."""
    segments_up: int
    again_up: int
    """Packets that the client sent again, and that had not arrived."""
    waited_ms: float | None
    """How long packets waited in queues, the longest; `None` where no round trip of theirs is known."""
    queue_is_full: bool
    """Whether losses came where the queue was longest: it has no more room."""
    lost_at_random: float | None
    """Of what was lost, as much as did not come of a full queue; `None` where that cannot be told."""

    @classmethod
    def of(cls, capture: ClientCapture) -> "InferredNetwork":
        """Infer it.

        Raises:
            InputError: if too little came to tell a rate, or no round trip is known.
        """
        down = capture.packets.filter(pl.col("way") == "down")
        heads = _heads(capture.connections)
        came = _on_the_wire(down, heads)
        moment = busiest_moment((down["at_ms"] * 1e6).cast(pl.Int64).to_list(), came.to_list())
        if moment is None:
            raise InputError("--page: too little came in this capture to tell a rate: capture a page load")
        distances = _distances(capture)
        if not distances:
            raise InputError(
                "--page: no round trip is known: the capture has neither a handshake nor an acknowledgement "
                "of what the client sent: begin it before the page is loaded"
            )
        nearest = _of_connections(capture.connections, distances)
        waits = queue_waits.waits(down, nearest)
        lost = lost_segments(down, nearest)
        standing = queue_waits.rate_of_waiting(down, came, waits, moment[0])
        down_bps = max(moment[0], standing or 0)
        packet_ms = 8e3 * FULL_PACKET / down_bps
        longest = queue_waits.longest(waits.values())
        full = FullQueue.of(waits, lost, longest, packet_ms)
        connections = capture.connections
        losses = sum(each.segments for each in lost)
        return cls(
            down_bps=down_bps,
            down_is_full=standing is not None and standing >= (1 - _AGREE) * down_bps,
            up_bps=rate_up(capture.packets, nearest, heads, down_bps),
            round_trips_ms=distances,
            segments=int(_segments(down.filter(pl.col("bytes") > 0)).sum()) + losses,
            lost=losses,
            segments_up=int(connections["data_packets_up"].sum()) + connections.height,
            again_up=again_up(connections),
            waited_ms=longest,
            queue_is_full=full.is_full,
            lost_at_random=full.at_random,
        )

    @property
    def queue_bytes(self) -> int | None:
        """Give the room of the queue, if losses show it: what came through the link while a packet waited."""
        if self.waited_ms is None or not self.queue_is_full:
            return None
        return round(self.waited_ms * self.down_bps / 8e3)

    @property
    def lost_pct(self) -> float:
        """Give the share of packets that were certainly lost on the way down."""
        return _percent(self.lost, self.segments)

    def random_loss_pct(self, of_queues: float) -> float:
        """Give the share that was lost at random; where waits do not tell it: all but what queues drop."""
        if self.lost_at_random is not None:
            return max(_percent(self.lost_at_random, self.segments), 0.0)
        lost = self.lost + self.again_up - of_queues
        return max(0.0, _percent(lost, self.segments + self.segments_up))

    def in_words(self, nearest_ms: float, random_loss_pct: float = 0.0) -> str:
        """Describe it as `--network` does, up to a server so near, with this share of random losses."""
        up = self.down_bps if self.up_bps is None else self.up_bps
        rates = f"{self.down_bps / 1e6:.3f}" + ("" if up == self.down_bps else f"/{up / 1e6:.3f}")
        loss = f",loss={random_loss_pct:.1f}%" if random_loss_pct > 0 else ""
        # Handshakes took the time of their own packets on the link as well, which the simulator adds.
        own_ms = 8e3 * _HANDSHAKE_PACKET * (1 / self.down_bps + 1 / up) if self.down_is_full else 0.0
        return f"{rates}mbit,{max(0.0, nearest_ms - own_ms):.2f}ms{loss},queue={self._queue()}"

    def _queue(self) -> str:
        if (room := self.queue_bytes) is not None:
            return f"{room / 1e3:.1f}KB"
        return f"{max(USUAL_QUEUE_MS, _ROOM * (self.waited_ms or 0.0)):.0f}ms"


def _heads(connections: pl.DataFrame) -> dict[int, int]:
    """Give the bytes of a packet's head on each connection: what full segments leave says its options."""
    heads = {}
    for row in connections.iter_rows(named=True):
        bare = _BARE_HEAD[6 if ":" in row["server"] else 4]
        options = (row["mss_up"] or 0) - (row["largest_segment_down"] or 0)
        heads[row["connection"]] = bare + (options if 0 <= options <= _TIMESTAMPS else _TIMESTAMPS)
    return heads


def _segments(rows: pl.DataFrame) -> pl.Series:
    """Give how many packets each row was on the link: machines put several together to capture them."""
    full = FULL_PACKET - _BARE_HEAD[4]
    return ((rows["bytes"] + full - 1) // full).clip(lower_bound=1)


def _on_the_wire(rows: pl.DataFrame, heads: Mapping[int, int]) -> pl.Series:
    """Give the bytes of packets with their heads."""
    return rows["bytes"] + _segments(rows) * rows["connection"].replace_strict(heads, return_dtype=pl.Int64)


def _distances(capture: ClientCapture) -> dict[str, float]:
    """Give the least round trip to each server: of handshakes, where there are any."""
    found = capture.connections.group_by("server", maintain_order=True).agg(
        pl.col("server_handshake_ms").min(), pl.col("rtt_min_ms_up").min()
    )
    known = found.with_columns(ms=pl.coalesce("server_handshake_ms", "rtt_min_ms_up")).drop_nulls("ms")
    return dict(known.select("server", "ms").iter_rows())


def _of_connections(connections: pl.DataFrame, distances: Mapping[str, float]) -> dict[int, float]:
    """Give the least round trip of each connection's server, where it is known."""
    rows = connections.select("connection", "server").iter_rows()
    return {number: distances[server] for number, server in rows if server in distances}


def again_up(connections: pl.DataFrame) -> int:
    """Give how many packets a client sent again that had not arrived, SYNs among them."""
    needed = connections["retransmitted_packets_up"] - connections["spurious_up"]
    return int((needed + connections["syn_retransmissions_up"]).sum())


def rate_up(
    packets: pl.DataFrame, nearest: Mapping[int, float], heads: Mapping[int, int], down_bps: int
) -> int | None:
    """Give the rate up, by how much longer data took to be acknowledged than a handshake, if several agree.

    All else that takes time only makes it seem slower: the highest of those that agree is it.
    """
    sizes = {
        (connection, seq + size): size
        for connection, way, seq, size in packets.select("connection", "way", "seq", "bytes").iter_rows()
        if way == "up" and size >= _LEAST_SEGMENT
    }
    acknowledged = packets.filter(pl.col("rtt_ms").is_not_null() & (pl.col("way") == "down"))
    rates = []
    columns = acknowledged.select("connection", "ack", "rtt_ms", "bytes")
    for connection, ack, took, came in columns.iter_rows():
        size = sizes.get((connection, ack))
        if size is None or connection not in nearest:
            continue
        # A handshake's packets have heads too. What acknowledges may be long itself.
        others = heads[connection] - _HANDSHAKE_PACKET
        longer = took - nearest[connection] - 8e3 * (came + others) / down_bps
        if longer < _LEAST_DELAY_MS:
            return None
        rates.append(8e3 * (size + others) / longer)
    highest = max(rates, default=0.0)
    agreeing = [rate for rate in rates if rate >= (1 - _AGREE) * highest]
    return round(statistics.median(agreeing)) if len(agreeing) >= _LEAST_AGREEING else None


def _percent(part: float, of: int) -> float:
    return 100 * part / of if of else 0.0
