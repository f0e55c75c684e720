"""What `loadstone page --depths` says: as JSON, and as tables."""

from typing import Any

from loadstone import text
from loadstone.depths import SEGMENT, SMALL, Depths

_NUMBERS = 58
"""Columns that the figures beside a name take."""
_NARROWEST = 20


def document(found: Depths) -> dict[str, Any]:
    """Give the document of `loadstone page --depths --json`."""
    small, count = {f"{SMALL}": found.below(SMALL), f"{SEGMENT}": found.below(SEGMENT)}, len(found.objects)
    return {
        "page": found.page.name,
        "network": found.cell.network,
        "variant": found.cell.variant,
        "plt_ms": found.plt_ms,
        "objects": found.objects,
        "sizes": found.sizes,
        "small_objects": {
            below: {"objects": number, "share": number / count} for below, number in small.items()
        },
        "critical_path_ms": found.path_ms(),
        "critical_path": found.critical_path,
    }


def in_words(found: Depths) -> str:
    """Write the objects, those first that may come least later, the sizes, and the critical path."""
    protocol = found.cell.variant["protocol"]
    others = sorted(set(found.cell.variant.get("protocol_of", {}).values()) - {protocol})
    spoken = " and ".join([protocol, *others])
    loaded = f"loaded once over {spoken} on {found.cell.network}: {text.ms(found.plt_ms)}"
    return "\n\n".join(
        [
            f"{text.printable(found.page.name)}, {loaded}",
            _objects(found),
            _sizes(found),
            _path(found),
            "level: texts around an object. depth: objects of the longest path to one for which nothing "
            "waits.\nto finish: from its finding to the end. slack: how much later it may come, as far as\n"
            "dependencies go; - the page does not wait for it. *: on the critical path.",
        ]
    )


def _name(name: str) -> str:
    return text.shorten(text.printable(name), max(_NARROWEST, text.width() - _NUMBERS))


def _objects(found: Depths) -> str:
    def lateness(each: dict[str, Any]) -> float:
        return float("inf") if each["slack_ms"] is None else each["slack_ms"]

    rows = [["object", "", "level", "depth", "bytes", "to finish", "slack"]]
    rows += [
        [
            _name(each["name"]),
            "*" if each["on_critical_path"] else "",
            f"{each['level']}",
            f"{each['depth']}",
            text.size(each["bytes"]),
            text.ms(each["to_finish_ms"]),
            text.ms(each["slack_ms"]),
        ]
        for each in sorted(found.objects, key=lateness)
    ]
    return text.table(rows, left=2)


def _sizes(found: Depths) -> str:
    count = len(found.objects)
    spread = ", ".join(f"{name} {text.size(round(size))}" for name, size in found.sizes.items())
    small = [
        f"{number} ({100 * number / count:.0f} %) are below {what}"
        for number, what in (
            (found.below(SMALL), "4 KB"),
            (found.below(SEGMENT), f"one segment of {SEGMENT:,} B"),
        )
    ]
    return f"{text.count(count, 'object')}: {spread}\n{', '.join(small)}"


def _path(found: Depths) -> str:
    def figures(of: dict[str, float]) -> list[str]:
        return [text.ms(of[part]) if of[part] else "-" for part in ("network", "computing", "waiting")]

    rows = [["critical path", "until", "network", "computing", "waiting"]]
    rows += [
        [
            _name(leg["name"]),
            text.ms(leg["to_ms"]),
            *figures({name.removesuffix("_ms"): leg[name] for name in leg if name.endswith("_ms")}),
        ]
        for leg in found.critical_path
    ]
    return text.table([*rows, ["all", text.ms(found.plt_ms), *figures(found.path_ms())]])
