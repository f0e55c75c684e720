"""What `load`, `compare` and `page` print: documents for machines, text for people."""

import statistics
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from loadstone import __version__, measures, text, waterfall
from loadstone._native import Outcome
from loadstone.comparison import (
    NetworkResult,
    PageResult,
    VariantOverPages,
    VariantResult,
    median_plt_ms,
    over_pages,
)
from loadstone.engine import engine
from loadstone.experiment import Cell
from loadstone.pages import Page
from loadstone.recorded import Recorded
from loadstone.settings import OF_RUNS
from loadstone.stability import Stability
from loadstone.stats import LEAST_PAIRS, Gain, Until

# --- loadstone load ---


def load_document(
    page: str, cell: Cell, outcomes: Sequence[Outcome], *, with_waterfall: bool
) -> dict[str, Any]:
    """Give the document of `loadstone load --json`."""
    return {
        "page": page,
        "network": cell.network,
        "variant": cell.variant,
        "spread": cell.spread,
        "runs": [
            _run(outcome)
            | measures.of_load(outcome, cell.scenario.rtt_ms)
            | (_tables(outcome) if with_waterfall else {})
            for outcome in outcomes
        ],
        "median_plt_ms": median_plt_ms(outcomes),
    }


def _run(outcome: Outcome) -> dict[str, Any]:
    run: dict[str, Any] = {
        **{name: getattr(outcome, name) for name in OF_RUNS},
        "account": outcome.account(),
    }
    if conditions := outcome.conditions():
        run["conditions"] = conditions
    if others := outcome.others:
        run["others"] = [
            {"name": name, "plt_ms": plt_ms, "completed": completed} for name, plt_ms, completed in others
        ]
    return run


def _tables(outcome: Outcome) -> dict[str, Any]:
    return {"waterfall": outcome.waterfall(), "connection_table": outcome.connection_table()}


def _size(value: float) -> str:
    return text.size(round(value))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


_SHOWN: dict[str, Callable[[float], str]] = {"ms": text.ms, "bytes": _size}
"""How values are shown, by their unit; others are counts."""
_RARE = {"bytes_pushed", "bytes_prefetched", "bytes_wasted"}
"""What text says only where there is some: most loads push nothing."""
_MEASURES = [
    ("page load time" if name == "plt_ms" else name.replace("_", " "), name, _SHOWN.get(column.unit, _number))
    for name, column in OF_RUNS.items()
    if column.unit and not column.nullable
]
"""What text says of loads; documents have more."""


_MOMENTS = {
    "first_byte_ms": "first byte",
    "first_contentful_paint_ms": "first contentful paint",
    "dom_content_loaded_ms": "DOMContentLoaded",
    "largest_contentful_paint_ms": "largest contentful paint",
    "speed_index_ms": "Speed Index",
}
"""What a page says of its visitor's view."""


def _moments(outcomes: Sequence[Outcome]) -> list[tuple[str, str, Callable[[float], str]]]:
    """Give the moments that all runs have, if the page knows more than when its first byte comes."""
    known = [name for name in _MOMENTS if all(getattr(outcome, name) is not None for outcome in outcomes)]
    return [(_MOMENTS[name], name, text.ms) for name in known] if len(known) > 1 else []


def load_text(page: str, cell: Cell, outcomes: Sequence[Outcome]) -> str:
    """Give a short summary of the runs: medians, and the range where there are several."""
    completed = [outcome for outcome in outcomes if outcome.completed]
    conditions = [known for outcome in outcomes if (known := outcome.conditions())]
    whose = (
        f"TCP of Linux {conditions[0]['kernel']}"
        if conditions
        else f"TCP as {cell.variant['tcp']['profile']}"
    )
    head = "\n".join(
        [f"{text.printable(page)} on {cell.network}", *wrapped(_variant(cell.variant, whose)), ""]
    )
    if not completed:
        gave_up = text.ms(max(outcome.plt_ms for outcome in outcomes))
        return f"{head}\n{incomplete(outcomes)}: the browser gave up after {gave_up} at the latest"
    several = len(completed) > 1
    rows = [["", "median", "least", "most"] if several else ["", "run"]]
    rare = {name for name in _RARE if not any(getattr(outcome, name) for outcome in completed)}
    first, *others = (measure for measure in _MEASURES if measure[1] not in rare)
    for name, field, show in [first, *_moments(completed), *others]:
        values: list[float] = [getattr(outcome, field) for outcome in completed]
        middle = statistics.median(values)
        shown = [show(middle), show(min(values)), show(max(values))] if several else [show(middle)]
        rows.append([name, *shown])
    seeds = "\n".join(wrapped(f"{text.count(len(outcomes), 'run')}, {_seeds(outcomes)}{_varied(cell)}"))
    note = (
        "" if len(completed) == len(outcomes) else f"\n{incomplete(outcomes)}: the figures are of the others"
    )
    shown_runs = f"{head}{seeds}\n\n{text.table(rows)}{note}"
    return "\n".join([shown_runs, *_others(outcomes), *_machine(conditions, outcomes)])


def _others(outcomes: Sequence[Outcome]) -> list[str]:
    """Say what the run's other browsers gave, where its topology has several."""
    names = [name for name, _, _ in outcomes[0].others]
    if not names:
        return []
    rows = [["other browsers", "median", "least", "most", "completed"]]
    for at, name in enumerate(names):
        times = [outcome.others[at][1] for outcome in outcomes]
        completed = sum(outcome.others[at][2] for outcome in outcomes)
        shown = [text.ms(statistics.median(times)), text.ms(min(times)), text.ms(max(times))]
        rows.append([text.printable(name), *shown, f"{completed} of {len(outcomes)}"])
    return ["", text.table(rows)]


_MUCH = 0.05
"""Pauses of more than this share of the time make measured loads doubtful. Lateness does not: what is late
by more than 0.5 ms was taken for a pause."""


def _machine(conditions: Sequence[dict[str, Any]], outcomes: Sequence[Outcome]) -> list[str]:
    """Say how far the machine can be trusted to have carried out live runs in time."""
    if not conditions:
        return []
    late = max(known["late_worst_ms"] for known in conditions)
    paused = sum(known["paused_ms"] for known in conditions)
    said = f"measured over the kernel: the worst packet was {late:.2f} ms late"
    if paused:
        said += f"; the machine paused for {text.ms(paused)}, left out of all times"
    if paused > _MUCH * sum(outcome.plt_ms for outcome in outcomes):
        said += ", but TCP's own timers went on: do not rely on these figures, and free the machine"
    return ["", *wrapped(said)]


def _varied(cell: Cell) -> str:
    """Say what varies with the seed."""
    loads = cell.scenario.page_loads
    times = "servers' and page's times" if loads is None else "servers' times"
    whose = {"network": "round trips and rates", "times": times}
    varied = [f"{whose[name]} by {percent} %" for name, percent in cell.spread.items() if percent]
    if loads is not None and cell.spread["times"]:
        varied.append(f"computing as between the page's {loads} loads")
    return f"; varied: {', '.join(varied)}" if varied else ""


def _seeds(outcomes: Sequence[Outcome]) -> str:
    first, last = outcomes[0].seed, outcomes[-1].seed
    return f"seed {first}" if first == last else f"seeds {first}-{last}"


def _variant(variant: dict[str, Any], whose: str) -> str:
    tls = {None: "TLS by the URL's scheme", "none": "no TLS"}.get(variant["tls"], f"TLS {variant['tls']}")
    tcp = variant["tcp"]
    parts = [
        variant["protocol"],
        tls,
        f"{text.count(variant['connections'], 'connection')} per host",
        f"servers: IW {tcp['iw']}, {tcp['cc']}",
        whose,
    ]
    if others := variant.get("tcp_of"):
        parts.insert(4, ", ".join(f"{name}: IW {own['iw']}, {own['cc']}" for name, own in others.items()))
    if (seconds := variant.get("visit_after")) is not None:
        parts.insert(2, f"visited {seconds} s before")
    if (browser := variant.get("browser")) is not None:
        parts.insert(2, f"browser {browser}")
    if variant.get("names") == "looked-up":
        parts.insert(2, "names looked up")
    if variant["requests_per_connection"] is not None:
        parts.insert(3, f"{text.count(variant['requests_per_connection'], 'request')} per connection")
    if variant["servers"] is not None:
        parts.insert(2, f"dealt over {text.count(variant['servers'], 'server')}")
    return ", ".join(parts)


def incomplete(outcomes: Sequence[Outcome]) -> str:
    """Say how many runs were not completed."""
    missing = sum(not outcome.completed for outcome in outcomes)
    return f"{missing} of {text.count(len(outcomes), 'run')} did not complete"


def waterfall_text(outcome: Outcome, width: int) -> str:
    """Draw the waterfall of one run."""
    columns = outcome.waterfall()
    end_ms = max([outcome.plt_ms, *(last for last in columns["last_byte_ms"] if last is not None)])
    return waterfall.render(columns, end_ms, width)


# --- loadstone compare ---


def compare_document(results: Sequence[PageResult], baseline: str | None = None) -> dict[str, Any]:
    """Give the document of `loadstone compare --json`; `baseline` where no network says which it is."""
    return {
        "version": __version__,
        "engine": engine(),
        "baseline": baseline or results[0].networks[0].variants[0].name,
        "pages": [
            {
                "page": result.page,
                "recorded": result.recorded and result.recorded.document(),
                **measured_document(result.measured),
                "networks": [network_document(network) for network in result.networks],
            }
            for result in results
        ],
        **({"over_pages": [_over(found) for found in summed]} if (summed := over_pages(results)) else {}),
    }


def _over(found: VariantOverPages) -> dict[str, Any]:
    over = found.over
    return {
        "network": found.network,
        "variant": found.variant,
        "pages": found.pages,
        **gain_document(over.gain),
        "least": over.least,
        "most": over.most,
        "faster": over.faster,
        "slower": over.slower,
    }


def gain_document(gain: Gain | None) -> dict[str, float | None]:
    """Give what documents have of a gain: the ratio and what it saves in percent, with their intervals."""
    ratio, low, high = (gain.ratio, gain.low, gain.high) if gain else (None, None, None)
    return {
        "gain": ratio,
        "gain_low": low,
        "gain_high": high,
        "saved_percent": _percent(ratio),
        "saved_low_percent": _percent(low),
        "saved_high_percent": _percent(high),
    }


def _percent(gain: float | None) -> float | None:
    """Say which percentage of the baseline's time a gain saves."""
    return None if gain is None else 100 * (1 - 1 / gain)


def network_document(result: NetworkResult) -> dict[str, Any]:
    """Give what the document has of a page on a network."""
    return {
        "name": result.name,
        "network": result.network,
        "random": result.is_random,
        "spread": result.variants[0].cell.spread,
        "variants": [_compared(variant, result.variants[0]) for variant in result.variants],
        "fastest": result.fastest.name if result.fastest else None,
        "equally_fast": result.equals,
        "not_clearly_slower": result.rivals,
        "best": result.best.name if result.best else None,
        "verdict": result.verdict,
        "reason": result.reason,
        "overflows": result.overflows,
        **({"until": _until(result.until, result)} if result.until else {}),
    }


def _until(until: Until, result: NetworkResult) -> dict[str, Any]:
    return {"half_width": until.half_width, "most_runs": until.most_runs, "reached": result.is_known}


def _compared(variant: VariantResult, baseline: VariantResult) -> dict[str, Any]:
    return {
        "name": variant.name,
        "variant": variant.cell.stated,
        "runs": [_without_details(_run(outcome)) for outcome in variant.outcomes],
        "median_plt_ms": variant.median_plt_ms,
        **gain_document(variant.gain),
        "saved_ms": _saved_ms(variant, baseline),
        "share_faster": variant.compared.ranks.share_faster if variant.compared.ranks else None,
        "p_value": variant.compared.ranks.p_value if variant.compared.ranks else None,
        "effect": variant.effect,
        "account": variant.compared.account,
    }


_DETAILS = {
    *("first_request_ms", "fast_retransmissions", "tail_loss_probes", "timeouts", *_MOMENTS),
    *_RARE,
}
"""Of single loads `load --json` and stores say them: a report has thousands, and all of them within it."""


def _without_details(run: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in run.items() if name not in _DETAILS}


def _saved_ms(variant: VariantResult, baseline: VariantResult) -> float | None:
    before_ms, now_ms = baseline.median_plt_ms, variant.median_plt_ms
    if variant.gain is None or before_ms is None or now_ms is None:
        return None
    return before_ms - now_ms


def compare_text(results: Sequence[PageResult]) -> str:
    """Give a table per page and network, with its winner; below, one over all pages."""
    blocks = [
        _block(result, network, is_first=network is result.networks[0])
        for result in results
        for network in result.networks
    ]
    return "\n\n".join([*blocks, *_over_block(results)])


def _over_block(results: Sequence[PageResult]) -> list[str]:
    summed = over_pages(results)
    if not summed:
        return []
    rows = [
        ["network", "variant", "gain", "95 % over pages", "least", "most", "faster on", "slower on", "of"]
    ]
    for found in summed:
        over = found.over
        shown = [gain_text(over.gain), interval_text(over.gain), f"{over.least:.2f}", f"{over.most:.2f}"]
        counts = map(str, (over.faster, over.slower, found.pages))
        rows.append([found.network, found.variant, *shown, *counts])
    base = results[0].networks[0].variants[0].name
    said = (
        f"Gains against {base} are geometric means, with intervals of pages like these. Faster and slower "
        "on: so many pages, where that is clear."
    )
    return ["\n".join([f"over {text.count(len(results), 'page')}", text.table(rows, left=2), *wrapped(said)])]


def runs_text(result: NetworkResult) -> str:
    """Say how often each variant was run."""
    runs = result.variants[0].outcomes
    if not result.is_random:
        return "nothing varies, so every run is the same: 1 run, no interval"
    return f"{text.count(len(runs), 'run')} per variant, {_seeds(runs)}{_too_few(runs)}{_known(result)}"


def _block(page: PageResult, result: NetworkResult, *, is_first: bool) -> str:
    name = result.network if result.name == result.network else f"{result.name} ({result.network})"
    all_completed = all(variant.completed == len(variant.outcomes) for variant in result.variants)
    moment = page.measured["metric"].upper() if page.measured else "PLT"
    head = ["", "variant", f"median {moment}", "gain", *(["95 % interval"] if result.is_random else [])]
    rows = [head if all_completed else [*head, "completed"]]
    for variant in result.variants:
        row = [
            "*" if variant is result.best else "",
            variant.name,
            text.ms(variant.median_plt_ms),
            "baseline" if variant is result.variants[0] else gain_text(variant.gain),
        ]
        row += [interval_text(variant.gain)] if result.is_random else []
        row += [] if all_completed else [f"{variant.completed} of {len(variant.outcomes)}"]
        rows.append(row)
    lines = [
        *(_recorded(page.page, page.recorded) if is_first else []),
        *(wrapped(measured_text(page.measured)) if is_first and page.measured else []),
        *wrapped(f"{text.printable(page.page)} on {name}: {runs_text(result)}"),
        text.table(rows, left=2),
    ]
    said = [result.verdict, result.reason or "", overflows_text(result)]
    return "\n".join([*lines, *(line for sentence in said for line in wrapped(sentence))])


def measured_first(measured: dict[str, Any] | None, said: str) -> str:
    """Put up to what loads are measured before what is said of them, if it is not the load event."""
    return "\n".join([*wrapped(measured_text(measured)), said]) if measured else said


def measured_document(measured: dict[str, Any] | None) -> dict[str, Any]:
    """Give that as documents have it."""
    return {"measured": measured} if measured else {}


_SOURCES = {
    "named": "the recording names it",
    "moment": "in by the recorded moment",
    "rule": "by rule",
}
"""How it is known what a paint needs."""


def measured_text(measured: dict[str, Any]) -> str:
    """Say up to what loads are measured, and how sure that is."""
    needed = measured["objects"]
    name = measured["image"] or needed[0]
    shown = text.shorten(text.harmless(name).split("://", 1)[-1].partition("?")[0], 60)
    more = f" and {text.count(len(needed) - 1, 'more object')}" if len(needed) > 1 else ""
    rivals = measured["rivals"]
    doubt = f"; {text.count(rivals, 'other image')} may be meant" if rivals else ""
    how = f"{_SOURCES[measured['source']]}{doubt}"
    verb = "are" if more else "is"
    return f"Measured until {measured['metric']}: {shown}{more} {verb} in ({how}); painting is not included."


def overflows_text(result: NetworkResult) -> str:
    """Warn of queues that overflow: whose packet finds no room turns on a few bytes."""
    if not result.overflows:
        return ""
    shares = ", ".join(f"{name} {100 * share:.1f} %" for name, share in result.overflows.items())
    return f"The queue overflows: packets sent again, though none is lost at random: {shares}."


def _recorded(page: str, recorded: Recorded | None) -> list[str]:
    """Say how the recorded load compares with the simulated one."""
    lines = recorded.lines(text.printable(page)) if recorded else []
    return [line for said in lines for line in wrapped(said)]


def wrapped(sentence: str) -> list[str]:
    """Break a sentence into lines, but not between a number and its unit."""
    bound = sentence.replace(" ms", "\N{NO-BREAK SPACE}ms")
    lines = textwrap.wrap(bound, text.width(), break_long_words=False, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _too_few(runs: Sequence[Outcome]) -> str:
    return "" if len(runs) >= LEAST_PAIRS else f" (an interval needs {LEAST_PAIRS})"


def _known(result: NetworkResult) -> str:
    if result.until is None:
        return ""
    if result.is_known:
        return f"; every gain is known within {result.until}"
    return f", the most; not every gain is known within {result.until}"


def gain_text(gain: Gain | None) -> str:
    """Write a gain."""
    return f"{gain.ratio:.2f}" if gain else "-"


def interval_text(gain: Gain | None) -> str:
    """Write the interval of a gain, if it has one."""
    return "" if gain is None or gain.low is None else f"{gain.low:.2f} - {gain.high:.2f}"


# --- loadstone page ---


def page_document(page: Page, recorded: Recorded | None) -> dict[str, Any]:
    """Give the document of `loadstone page --json`."""
    told = recorded and recorded.document()
    stability = Stability.of(page)
    return {
        "page": page.name,
        **page.summary(),
        "loads": stability and stability.document(),
        "recorded": told,
        "notes": page.notes,
    }


_SKIPPED = {
    "not_http": "no web address (data:, blob:, ...)",
    "web_socket": "WebSocket",
    "from_cache": "from the browser's cache",
    "answered_by_browser": "answered by the browser itself",
    "failed": "failed or blocked",
}


def page_text(page: Page, recorded: Recorded | None) -> str:
    """Give what the page is as a few tables."""
    summary = page.summary()
    heads = summary["request_header_bytes"], summary["response_header_bytes"]
    shares = summary["top_hosts_pct"]
    rows = [
        ["objects", f"{summary['objects']}"],
        ["  needed for the page's load", f"{summary['needed_objects']}"],
        ["bytes of bodies", text.size(summary["bytes"])],
        ["bytes of heads (requests, responses)", " + ".join(map(text.size, heads))],
        *[
            [f"  compressed by {protocol}", " + ".join(map(text.size, small.values()))]
            for protocol, small in summary["compressed_header_bytes"].items()
        ],
        ["hosts", f"{summary['hosts']}"],
        [
            f"share of requests, top {_up_to(len(shares))} hosts",
            ", ".join(f"{share:.0f} %" for share in shares),
        ],
        ["depth", f"{summary['depth']}"],
    ]
    kinds = sorted(summary["kinds"].items(), key=lambda item: -item[1]["bytes"])
    kind_rows = [["kind", "objects", "bytes"]]
    kind_rows += [[text.printable(kind), f"{of['objects']}", text.size(of["bytes"])] for kind, of in kinds]
    room = text.width() - 4
    chain = [f"  {text.shorten(text.printable(name), room)}" for name in summary["longest_chain"]]
    parts = [
        text.printable(page.name),
        text.table(rows, left=2),
        text.table(kind_rows),
        "longest chain\n" + "\n".join(chain),
    ]
    parts += [stability.in_words()] if (stability := Stability.of(page)) else []
    parts += ["\n".join(_recorded(page.name, recorded))] if recorded else []
    notes = _notes(page.notes)
    return "\n\n".join([*parts, "\n".join(notes)] if notes else parts)


def _up_to(number: int) -> str:
    return "1" if number == 1 else f"1-{number}"


def _notes(notes: dict[str, Any]) -> list[str]:
    if not notes:
        return []

    def entries(number: int) -> str:
        return text.count(number, "entry", "entries")

    lines = [f"page {notes['page']} of {notes['pages']} in the file, {entries(notes['entries'])}"]
    for cause, number in notes["skipped"].items():
        lines.append(f"{entries(number)} left out: {_SKIPPED.get(cause, cause.replace('_', ' '))}")
    if failed := notes["name_errors"]:
        requests = text.count(failed, "request")
        lines.append(f"{requests} to names that do not exist: the page waits until they have failed")
    if notes["cut_urls"]:
        lines.append(f"{text.count(notes['cut_urls'], 'URL')} cut, too long")
    if doubtful := notes["contradicted_sizes"]:
        lines.append(
            f"sizes of {text.count(doubtful, 'object')} contradict each other: the smaller are taken"
        )
    if notes["odd_methods"]:
        lines.append(
            f"{text.count(notes['odd_methods'], 'request')} with a method that is no word: taken as GET"
        )
    return lines
