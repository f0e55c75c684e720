"""What a report says first: which variant is better where, and where the time goes that none can save."""

from collections.abc import Sequence

from loadstone import text
from loadstone._native import Outcome
from loadstone.comparison import NetworkResult

_OWN = ("server", "page_itself")
_NAME_ROOM = 48
_OF_AN_OBJECT = {
    "handshakes": "opening a connection for",
    "waiting_for_connection": "waiting for a connection for",
    "request_round_trips": "asking for",
    "transfer": "receiving",
    "loss_recovery": "replacing lost packets of",
    "server": "the server's work on",
    "page_itself": "the page's own time before it asks for",
}
"""The parts of an account, as they are said of one object."""


def focus(networks: Sequence[NetworkResult]) -> NetworkResult | None:
    """Choose the network that a page is explained on: that of the middle load time."""
    loaded = [network for network in networks if network.fastest is not None]
    ordered = sorted(loaded, key=lambda network: network.variants[0].median_plt_ms or 0.0)
    return ordered[len(ordered) // 2] if ordered else None


def verdict(networks: Sequence[NetworkResult]) -> str:
    """Say which variant is best where and by how much, beginning with the one that is most often."""
    if all(network.fastest is None for network in networks):
        return "No run was completed."
    where: dict[str, list[NetworkResult]] = {}
    alike, unclear = [], []
    for network in networks:
        if network.best is not None:
            where.setdefault(network.best.name, []).append(network)
        elif network.is_alike:
            alike.append(network.name)
        elif network.fastest is not None:
            unclear.append(network.name)
    ordered = sorted(where.values(), key=lambda won: -len(won))
    clauses = [_won(won, is_everywhere=len(won) == len(networks) > 1) for won in ordered]
    clauses += [f"it hardly matters on {listed(alike)}"] if alike else []
    clauses += [f"there is no clear winner on {listed(unclear)}"] if unclear else []
    said = "; ".join(clauses)
    return f"{said}." if ordered else f"{said[0].upper()}{said[1:]}."


def _won(won: Sequence[NetworkResult], *, is_everywhere: bool) -> str:
    best = won[0].best
    name = "" if best is None else best.name
    place = "every network" if is_everywhere else listed([network.name for network in won])
    gains = [network.best.gain.ratio for network in won if network.best and network.best.gain]
    percents = [100 * (gain - 1) for gain in gains]
    if not percents:
        return f"{name} is best on {place}"
    ends = list(dict.fromkeys(f"{percent:.0f}" for percent in (min(percents), max(percents))))
    return f"{name} is best on {place}, {' to '.join(ends)} % faster than {won[0].variants[0].name}"


def listed(items: Sequence[str]) -> str:
    """Write things after one another."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def own_time(network: NetworkResult) -> str:
    """Say how much of a load is the page's and its servers' own time, and what is longest."""
    variant = network.fastest
    spent = variant.middle_run.account() if variant is not None else None
    if variant is None or spent is None:
        return ""
    share = sum(spent[part] for part in _OWN) / max(sum(spent.values()), 1e-9)
    longest = pieces(variant.middle_run, 1)[0]
    return (
        f"On {network.name}, {100 * share:.0f} % of the load is the page's and the servers' own time, which "
        f"no protocol can save. The longest piece is {text.ms(longest[0])}: {said(longest)}."
    )


Piece = tuple[float, str, str]
"""Milliseconds, the part of an account, the object."""


def pieces(run: Outcome, most: int) -> list[Piece]:
    """Give the longest pieces of what a load waited for, the longest first."""
    path = run.path()
    times: dict[tuple[str, str], float] = {}
    for name, part, begin, end in zip(
        path["name"], path["part"], path["from_ms"], path["to_ms"], strict=True
    ):
        times[part, name] = times.get((part, name), 0.0) + end - begin
    ordered = sorted(((ms, *key) for key, ms in times.items()), key=lambda piece: -piece[0])
    return ordered[:most]


def said(piece: Piece) -> str:
    """Say what a piece was spent on."""
    _, part, name = piece
    shown = text.shorten(text.harmless(name).split("://", 1)[-1].partition("?")[0], _NAME_ROOM)
    return f"{_OF_AN_OBJECT[part]} {shown}"
