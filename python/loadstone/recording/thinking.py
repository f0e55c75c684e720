"""How long servers thought, by the times of a recording: what nothing else explains of waits for responses.

A response is waited for while its request travels, while the server thinks, and while the link is busy with
other responses. So it counts as thinking how long nothing came at all, after one round trip. That is too
little where a server thinks while others send.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any

from loadstone.recording.archive import HAR, Archive

Asked = tuple[int, str, str, str]
"""Load, DevTools' number of the request, method and URL: what tells an exchange from others."""


def of_archive(archive: Archive) -> dict[Asked, float]:
    """Say how long the server thought, in ms, for each exchange of which the times are known."""
    if HAR not in archive.packed:
        return {}
    log = json.loads(archive.extra(HAR)).get("log", {})
    loads: dict[int, list[_Wait]] = defaultdict(list)
    for entry in log.get("entries", []):
        if wait := _wait(entry):
            loads[wait.asked[0]].append(wait)
    return {asked: ms for waits in loads.values() for asked, ms in of_load(waits).items()}


@dataclass(frozen=True)
class _Wait:
    """The wait for one response; moments in ms."""

    asked: Asked
    sent: float
    began: float
    """When its first byte came."""
    ended: float
    connected: float | None
    """How long its connection took, without TLS, if it was opened for it."""

    @property
    def host(self) -> str:
        return self.asked[3].partition("://")[2].partition("/")[0]


def _wait(entry: Mapping[str, Any]) -> _Wait | None:
    try:
        times = {
            name: max(float(value or 0), 0) for name, value in entry["timings"].items() if name != "comment"
        }
        started = datetime.fromisoformat(entry["startedDateTime"]).timestamp() * 1e3
        load = int(str(entry["pageref"]).rpartition("_")[2])
        asked = load, str(entry["_requestId"]), str(entry["request"]["method"]), str(entry["request"]["url"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    before = ("blocked", "dns", "connect", "send")
    sent = started + sum(times.get(name, 0) for name in before)
    began = sent + times.get("wait", 0)
    connected = times.get("connect", 0) - times.get("ssl", 0)
    return _Wait(asked, sent, began, began + times.get("receive", 0), connected if connected > 0 else None)


def of_load(waits: Sequence[_Wait]) -> dict[Asked, float]:
    """Say it for the exchanges of one load."""
    nearest: dict[str, float] = {}
    for one in waits:
        if one.connected is not None:
            nearest[one.host] = min(one.connected, nearest.get(one.host, one.connected))
    least = min(nearest.values(), default=0.0)
    busy = _Busy((one.began, one.ended) for one in waits)
    thought = {}
    for one in waits:
        arrived = min(one.sent + nearest.get(one.host, least), one.began)
        thought[one.asked] = max(one.began - arrived - busy.between(arrived, one.began), 0.0)
    return thought


class _Busy:
    """When something came."""

    def __init__(self, spans: Iterable[tuple[float, float]]) -> None:
        joined: list[list[float]] = []
        for begin, end in sorted(spans):
            if joined and begin <= joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], end)
            else:
                joined.append([begin, end])
        self._begins = [begin for begin, _ in joined]
        self._ends = [end for _, end in joined]
        self._before = [0.0, *accumulate(end - begin for begin, end in joined)]

    def between(self, begin: float, end: float) -> float:
        """Say for how long, between two moments."""
        return self._until(end) - self._until(begin)

    def _until(self, moment: float) -> float:
        at = bisect_right(self._begins, moment)
        over = max(self._ends[at - 1] - moment, 0.0) if at else 0.0
        return self._before[at] - over
