"""What `diff` prints."""

from collections.abc import Sequence
from typing import Any

from loadstone import __version__, text
from loadstone.account import PARTS
from loadstone.comparison import NetworkResult
from loadstone.difference import Difference, Resource
from loadstone.engine import engine
from loadstone.verb_output import network_document, runs_text, wrapped

_MUCH = 0.1
"""Parts that differ by less than this share of the part that differs most are not named."""

_SHOWN = 10
"""The most objects of a sort that are named."""


def document(found: Difference) -> dict[str, Any]:
    """Give the document of `loadstone diff --json`."""
    return {
        "version": __version__,
        "engine": engine(),
        "before": found.names[0],
        "after": found.names[1],
        "added": [_resource(one) for one in found.added],
        "gone": [_resource(one) for one in found.gone],
        "changed": [
            {**_resource(after), "bytes_before": before.bytes, "name_before": before.name}
            for before, after in found.changed
        ],
        "same": found.same,
        "networks": [{**network_document(network), "reason": _why(network)} for network in found.networks],
    }


def _resource(one: Resource) -> dict[str, Any]:
    return {"name": one.name, "kind": one.kind, "bytes": one.bytes}


def in_words(found: Difference) -> str:
    """Give what differs in the page, then what that does to its load time."""
    before, after = map(text.printable, found.names)
    parts = [f"{before} -> {after}"]
    grown = [(after.bytes - before.bytes, after) for before, after in found.changed]
    parts += _listed("added", [(one.bytes, one) for one in found.added])
    parts += _listed("gone", [(-one.bytes, one) for one in found.gone])
    parts += _listed("changed", grown)
    parts.append(f"{text.count(found.same, 'object')} as before")
    rows = [["network", "before", "after", "saved", "gain", "95 % interval"]]
    sentences = []
    for network in found.networks:
        one, other = network.variants
        saved = (
            None
            if one.median_plt_ms is None or other.median_plt_ms is None
            else (one.median_plt_ms - other.median_plt_ms)
        )
        gain = other.gain
        ends = "" if gain is None or gain.low is None else f"{gain.low:.2f} - {gain.high:.2f}"
        shown = [text.ms(one.median_plt_ms), text.ms(other.median_plt_ms), _signed(saved)]
        rows.append([network.name, *shown, f"{gain.ratio:.2f}" if gain else "-", ends])
        sentences += wrapped(f"{network.name}: {_why(network)}")
    runs = runs_text(found.networks[0])
    return "\n".join([*parts, "", text.table(rows), runs, "", *sentences]).rstrip("\n")


def _why(network: NetworkResult) -> str:
    """Say what the times of the two median runs went into, as far as that differs much."""
    before, after = (variant.compared.account for variant in network.variants)
    if before is None or after is None:
        return "not every load was completed, so nothing can be said."
    longer = {part: after[part] - before[part] for part in after}
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
