"""What `diff` prints."""

from collections.abc import Sequence
from typing import Any

from loadstone import __version__, text
from loadstone.account import PARTS
from loadstone.difference import Difference, NetworkDifference, Resource, State
from loadstone.engine import engine
from loadstone.verb_output import (
    gain_document,
    gain_text,
    interval_text,
    network_document,
    runs_text,
    wrapped,
)

_MUCH = 0.1
"""Parts that differ by less than this share of the part that differs most are not named."""

_SIDES = ("before", "after")

_SHOWN = 10
"""The most objects of a sort that are named."""


def document(found: Difference) -> dict[str, Any]:
    """Give the document of `loadstone diff --json`."""
    return {
        "version": __version__,
        "engine": engine(),
        **{
            side: {"page": state.name, "sessions": [page.name for page in state.sessions]}
            for side, state in zip(_SIDES, found.states, strict=True)
        },
        "added": [_resource(one) for one in found.added],
        "gone": [_resource(one) for one in found.gone],
        "changed": [
            {**_resource(after), "bytes_before": before.bytes, "name_before": before.name}
            for before, after in found.changed
        ],
        "same": found.same,
        "networks": [_network(network) for network in found.networks],
    }


def _network(found: NetworkDifference) -> dict[str, Any]:
    before_ms, after_ms = found.medians_ms
    document = network_document(found.result)
    return {
        **{name: document[name] for name in ("name", "network", "random", "spread", "variants", "overflows")},
        "before_ms": before_ms,
        "after_ms": after_ms,
        **gain_document(found.gain),
        "reason": _why(found),
    }


def _resource(one: Resource) -> dict[str, Any]:
    return {"name": one.name, "kind": one.kind, "bytes": one.bytes}


def in_words(found: Difference) -> str:
    """Give what differs in the page, then what that does to its load time."""
    before, after = map(_state, found.states)
    parts = [f"{before} -> {after}"]
    grown = [(after.bytes - before.bytes, after) for before, after in found.changed]
    parts += _listed("added", [(one.bytes, one) for one in found.added])
    parts += _listed("gone", [(-one.bytes, one) for one in found.gone])
    parts += _listed("changed", grown)
    parts.append(f"{text.count(found.same, 'object')} as before")
    rows = [["network", "before", "after", "saved", "gain", "95 % interval"]]
    sentences = []
    for network in found.networks:
        one, other = network.medians_ms
        saved = None if one is None or other is None else one - other
        shown = [text.ms(one), text.ms(other), _signed(saved)]
        rows.append([network.result.name, *shown, gain_text(network.gain), interval_text(network.gain)])
        sentences += wrapped(f"{network.result.name}: {_why(network)}")
    runs = wrapped(f"{runs_text(found.networks[0].result)}{_of_sessions(found)}")
    return "\n".join([*parts, "", text.table(rows), *runs, "", *sentences]).rstrip("\n")


def _state(state: State) -> str:
    count = len(state.sessions)
    return text.printable(state.name) + (f" ({count} sessions)" if count > 1 else "")


def _of_sessions(found: Difference) -> str:
    """Say what the interval is of where sessions are pooled, or why there is none."""
    counts = [len(state.sessions) for state in found.states]
    if counts == [1, 1]:
        return ""
    if 1 in counts:
        return (
            "; no interval: record two sessions of either state, or more, so that it is known how they differ"
        )
    return (
        "; times are geometric means of the sessions' medians, objects those of more than half of them, and "
        "the interval is of sessions like these"
    )


def _why(network: NetworkDifference) -> str:
    """Say what the times of the median runs went into, as far as that differs much."""
    longer = network.longer_ms
    if longer is None:
        return "not every load was completed, so nothing can be said."
    much = _MUCH * max(abs(ms) for ms in longer.values())
    named = sorted((part for part in longer if abs(longer[part]) > much), key=lambda part: -abs(longer[part]))
    said = [
        f"{text.ms(abs(longer[part]))} {'more' if longer[part] > 0 else 'less'} {PARTS[part].spent}"
        for part in named
    ]
    return f"{', '.join(said) or 'no difference'}."


def _signed(ms: float | None) -> str:
    return "-" if ms is None else f"{'-' if ms < 0 else ''}{text.ms(abs(ms))}"


def _listed(what: str, grown: Sequence[tuple[int, Resource]]) -> list[str]:
    """Say how many objects these are, how many bytes they make, and name the largest."""
    if not grown:
        return []
    total = sum(size for size, _ in grown)
    lines = [f"{text.count(len(grown), 'object')} {what}: {_size(total)}"]
    ordered = sorted(grown, key=lambda item: -abs(item[0]))
    room = text.width() - 24
    lines += [
        f"  {_size(size):>10}  {one.kind:8}  {text.shorten(text.printable(one.name), room)}"
        for size, one in ordered[:_SHOWN]
    ]
    if len(ordered) > _SHOWN:
        lines.append(f"  and {len(ordered) - _SHOWN} more")
    return lines


def _size(change: int) -> str:
    return f"{'-' if change < 0 else '+'}{text.size(abs(change))}"
