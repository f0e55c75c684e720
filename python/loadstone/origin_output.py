"""What `load --origin` prints: a document for machines, text for people."""

from collections.abc import Sequence
from typing import Any

from loadstone import text, verb_output
from loadstone.origin import CHANGED_MS, CHANGED_SHARE, PROBES, RealLoad, Replayed, Simulated

_SHOWN = 8
"""Lines of a list at most."""
_URL_SHOWN = 70


def document(page: str, replayed: Replayed, *, with_waterfall: bool) -> dict[str, Any]:
    """Give the document of `loadstone load --origin --json`."""
    loads = replayed.loads
    common = verb_output.load_document(
        page, replayed.cell, [load.outcome for load in loads], with_waterfall=with_waterfall
    )
    for run, load, simulated in zip(common["runs"], loads, replayed.simulated, strict=True):
        run["origin"] = _load(load, simulated)
    servers = [{"host": host, "server": server, "address": at} for host, server, at in replayed.servers]
    return common | {"network": None, "origin": {"servers": servers, "left_out": replayed.left_out}}


def _load(load: RealLoad, simulated: Simulated | None) -> dict[str, Any]:
    least, most = load.lost_down_pct
    path = {
        "before": load.before.document(),
        "after": load.after.document(),
        "has_changed": load.has_changed,
        "round_trip_ms": load.round_trip_ms,
        "rate_bps": load.rate_bps,
        "rate_ms": load.measured["rate_ms"],
        "lost_down_least_pct": least,
        "lost_down_most_pct": most,
        "sent_again_pct": load.sent_again_pct,
        "network": simulated and simulated.network,
    }
    return {
        "path": path,
        "simulated_plt_ms": simulated and simulated.plt_ms,
        "connections": load.connections,
        "answers": load.measured["answers"],
        "failures": load.measured["failures"],
    }


def in_words(page: str, replayed: Replayed) -> str:
    """Give the loads as a table, with what the simulator says, and how the servers answered."""
    different = len({server for _, server, _ in replayed.servers})
    parts = [
        text.printable(page),
        *verb_output.wrapped(f"from {_servers(replayed)}{'' if different > 1 else ', all hosts'}"),
        *verb_output.wrapped(_variant(replayed.cell.variant)),
        "",
        _table(replayed),
        "",
        *_notes(replayed),
    ]
    return "\n".join(parts)


def _servers(replayed: Replayed) -> str:
    found = list(dict.fromkeys(f"{server} ({address})" for _, server, address in replayed.servers))
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(map(text.printable, found[:_SHOWN])) + more


def _variant(variant: dict[str, Any]) -> str:
    compute = variant.get("compute", 1)
    scaled = "" if compute == 1 else f", computing times {compute:g}"
    return f"asked for {variant['protocol']}{scaled}"


def _table(replayed: Replayed) -> str:
    rows = [
        [
            "run",
            "load time",
            "simulated",
            "error",
            "round trip",
            "after",
            "rate",
            "lost down",
            "sent again",
            "",
        ]
    ]
    for number, (load, simulated) in enumerate(zip(replayed.loads, replayed.simulated, strict=True), 1):
        least, most = load.lost_down_pct
        rows.append(
            [
                str(number),
                text.ms(load.outcome.plt_ms) if load.outcome.completed else "incomplete",
                *_simulated(load, simulated),
                f"{load.before.median_ms:,.1f} ms",
                f"{load.after.median_ms:,.1f} ms",
                "-" if load.rate_bps is None else f"{load.rate_bps / 1e6:,.2f} Mbit/s",
                f"{least:.1f} %" if least == most else f"{least:.1f} - {most:.1f} %",
                f"{load.sent_again_pct:.1f} %",
                "path changed" if load.has_changed else "",
            ]
        )
    return text.table(rows)


def _simulated(load: RealLoad, simulated: Simulated | None) -> list[str]:
    if simulated is None or simulated.plt_ms is None:
        return ["-", "-"]
    error = simulated.plt_ms / load.outcome.plt_ms - 1
    return [text.ms(simulated.plt_ms), f"{100 * error:+.1f} %"]


def _notes(replayed: Replayed) -> list[str]:
    loads = replayed.loads
    said = [
        f"Round trips are medians of {PROBES} handshakes before a load and as many after it. The rate is "
        "that of the load's busiest moment, so the link has it at least. Of what was lost on the way down a "
        "client sees bounds."
    ]
    if any(load.has_changed for load in loads):
        said.append(
            f"Path changed: its least round trip did, by more than {100 * CHANGED_SHARE:.0f} % and "
            f"{CHANGED_MS:g} ms."
        )
    pairs = [(load, one) for load, one in zip(loads, replayed.simulated, strict=True) if one is not None]
    if pairs:
        # A network is one thing: of the loads that with the middle rate.
        pairs.sort(key=lambda pair: pair[0].rate_bps or 0)
        said.append(f"The path as a network: --network {pairs[(len(pairs) - 1) // 2][1].network}")
    said += [f"Not simulated: {one.why_not}" for one in replayed.simulated if one and one.why_not][:1]
    lines = [line for sentence in said for line in verb_output.wrapped(sentence)]
    lines += _answers([load.measured["answers"] for load in loads])
    lines += _list("not sent, since they may change something (--all-methods sends them)", replayed.left_out)
    # Whole, since the remedy comes last.
    wrong = [verb_output.wrapped(text.printable(failure)) for failure in failures(loads)]
    return lines + [line for failure in wrong for line in ["", *failure]]


def failures(loads: Sequence[RealLoad]) -> list[str]:
    """Say what went wrong, each once."""
    return list(dict.fromkeys(failure for load in loads for failure in load.measured["failures"]))


def _answers(answers: Sequence[dict[str, Any]]) -> list[str]:
    last = answers[-1]
    asked = last["alike"] + len(last["unlike"]) + len(last["unanswered"])
    lines = [f"{last['alike']} of {text.count(asked, 'request')} answered as recorded"]
    status = [one for one in last["unlike"] if one["status"] != one["recorded_status"]]
    size = [one for one in last["unlike"] if one["status"] == one["recorded_status"]]
    size.sort(key=lambda one: -abs(one["bytes"] - one["recorded_bytes"]))
    lines += _list(
        "another status",
        [f"{one['status']} instead of {one['recorded_status']}: {one['url']}" for one in status],
    )
    lines += _list(
        "another size",
        [f"{one['bytes']:,} bytes instead of {one['recorded_bytes']:,}: {one['url']}" for one in size],
    )
    return lines + _list("without an answer when the load had ended", last["unanswered"])


def _list(what: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    room = max(_URL_SHOWN, text.width() - 4)
    shown = [f"  {text.shorten(text.printable(line), room)}" for line in lines[:_SHOWN]]
    more = [f"  ... and {len(lines) - _SHOWN} more: --json has them all"] if len(lines) > _SHOWN else []
    return [f"{len(lines)} {what}:", *shown, *more]
