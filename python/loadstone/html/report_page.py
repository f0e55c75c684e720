"""The page of a report, put together from the document of `compare --json`, charts and waterfalls."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from markupsafe import Markup, escape

from loadstone import __version__, text, verb_output
from loadstone.account import PARTS
from loadstone.comparison import NetworkResult, PageResult, VariantResult
from loadstone.html import charts
from loadstone.html.palette import HATCHES
from loadstone.html.templates import embedded, environment
from loadstone.html.waterfalls import CRITICAL, Objects, Scale, Waterfall, table
from loadstone.pages import Page

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class NetworkView:
    """One page on one network, as the page shows it."""

    id: str
    result: NetworkResult
    document: dict[str, Any]
    spreads: list[Markup]
    accounts: list[Markup]
    waterfalls: list[Waterfall]
    scales: list[Scale]
    tables: dict[int, Markup]
    """The waterfalls that need no script, by variant; the one that is shown first is the first."""

    @property
    def notation(self) -> str | None:
        """Give the network in the notation, if its name is another."""
        return None if self.result.name == self.result.network else self.result.network

    @property
    def fastest(self) -> dict[str, Any] | None:
        """Give the fastest variant, of the document."""
        rows = self.document["variants"]
        return next((row for row in rows if row["name"] == self.document["fastest"]), None)

    @property
    def base(self) -> dict[str, Any]:
        """Give the baseline, of the document."""
        base: dict[str, Any] = self.document["variants"][0]
        return base

    @property
    def doubt(self) -> str | None:
        """Say why the fastest is not the best."""
        if self.result.best is not None:
            return None
        return "hardly matters" if self.result.is_alike else "not clear"

    @property
    def runs(self) -> str:
        """Say how often each variant was run."""
        return verb_output.runs_text(self.result)

    @property
    def overflows(self) -> str:
        """Warn of queues that overflow."""
        return verb_output.overflows_text(self.result)

    @property
    def is_complete(self) -> bool:
        """Say whether every run was completed."""
        return all(run["completed"] for row in self.document["variants"] for run in row["runs"])

    def data(self) -> dict[str, Any]:
        """Give what the page's script needs."""
        variants = [
            {
                "name": variant.name,
                "scenario": variant.cell.settings,
                "step": scale.step,
                "steps": scale.steps,
                **waterfall.data(),
            }
            for variant, waterfall, scale in zip(
                self.result.variants, self.waterfalls, self.scales, strict=True
            )
        ]
        return {"name": self.result.name, "variants": variants}


@dataclass(frozen=True)
class PageView:
    """One page on all networks, as the page shows it."""

    id: str
    name: str
    facts: str
    recorded: list[str]
    """How the recorded load compares with the simulated one."""
    page: Any
    objects: Objects
    networks: list[NetworkView]

    @property
    def title(self) -> str:
        """Give the page's name without folders."""
        return PurePath(self.name).name or self.name

    @property
    def headline(self) -> str:
        """Say in a sentence which variant is best where."""
        return _headline([network.result for network in self.networks])

    def data(self) -> dict[str, Any]:
        """Give what the page's script needs."""
        objects = self.objects
        return {
            "name": self.title,
            "page": self.page,
            "names": objects.names,
            "labels": objects.labels,
            "kinds": objects.kinds,
            "sizes": objects.sizes,
            "networks": [network.data() for network in self.networks],
        }


def render(results: Sequence[PageResult], pages: Sequence[Page], command: str, progress: Progress) -> str:
    """Give the report as HTML.

    `command` repeats the comparison; `progress` is told how many charts are drawn and how many there are.
    """
    document = verb_output.compare_document(results)
    total = sum(2 * len(charts.FORMS) * len(result.networks) for result in results)
    done = iter(range(1, total + 1))
    views = [
        _page_view(f"page-{at}", page, result, shown, lambda: progress(next(done), total))
        for at, (page, result, shown) in enumerate(zip(pages, results, document["pages"], strict=True))
    ]
    data = {"parts": [[key, part.label, part.spent] for key, part in PARTS.items()], "critical": CRITICAL}
    filters: dict[str, Callable[..., Any]] = {
        "ms": text.ms,
        "harmless": text.harmless,
        "bound": _bound,
        "spaced": _spaced,
        "css": _css,
        "hatch": _hatch,
        "scenario_line": _scenario_line,
    }
    return (
        environment(filters)
        .get_template("page.html")
        .render(
            views=views,
            baseline=document["baseline"],
            command=command,
            version=__version__,
            parts=PARTS,
            critical=CRITICAL,
            methods=_methods(results),
            style=embedded("report.css"),
            script=embedded("report.js"),
            document=_json(document),
            data=_json({**data, "pages": [view.data() for view in views]}),
        )
    )


def _json(value: Any) -> Markup:
    """Write JSON that cannot end the element it stands in."""
    written = json.dumps(value, separators=(",", ":"))
    return Markup(written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _bound(sentence: str) -> Markup:
    """Keep a number and its unit on one line."""
    return Markup(re.sub(r"[\d,.]+ ms", r'<span class="bound">\g<0></span>', str(escape(sentence))))


def _css(part: str) -> str:
    return part.replace("_", "-")


def _hatch(part: str) -> Markup:
    """Draw the pattern of a part for the legends."""
    pattern = HATCHES[part]
    ways = " ".join(
        f"M{x1:.4g} {y1:.4g}L{x2:.4g} {y2:.4g}" for x1, y1, x2, y2 in pattern.strokes((0, 0, 24, 14))
    )
    dots = (
        Markup(' stroke-linecap="round" stroke-dasharray="0 {}"').format(pattern.gap)
        if pattern.dotted
        else ""
    )
    return Markup('<path d="{}" stroke="var(--on-{})" stroke-width="{}"{}></path>').format(
        ways, _css(part), pattern.width, dots
    )


def _spaced(notation: str) -> str:
    return notation.replace(",", ", ")


def _scenario_line(variant: VariantResult) -> str:
    return json.dumps(variant.cell.settings)


# --- pages and networks ---


def _page_view(
    place: str, page: Page, result: PageResult, document: dict[str, Any], drawn: Callable[[], None]
) -> PageView:
    networks = [
        _network_view(f"{place}-network-{at}", network, shown, drawn)
        for at, (network, shown) in enumerate(zip(result.networks, document["networks"], strict=True))
    ]
    first = result.networks[0].variants[0]
    summary = page.summary()
    facts = [
        text.count(summary["objects"], "object"),
        text.size(summary["bytes"]),
        text.count(summary["hosts"], "host"),
        f"{summary['depth']} deep" if summary["depth"] > 1 else "",
    ]
    return PageView(
        place,
        text.harmless(page.name),
        ", ".join(fact for fact in facts if fact),
        result.recorded.lines("This page") if result.recorded else [],
        json.loads(first.cell.scenario.to_json())["page"],
        Objects.of(first.outcomes[0].waterfall()),
        networks,
    )


def _network_view(
    place: str, result: NetworkResult, document: dict[str, Any], drawn: Callable[[], None]
) -> NetworkView:
    variants = [_drawable(row, result) for row in document["variants"]]
    waterfalls = [Waterfall.of(variant.middle_run, variant.outcomes) for variant in result.variants]
    scales = _scales(result, waterfalls)
    objects = Objects.of(result.variants[0].outcomes[0].waterfall())
    shown = [result.variants.index(result.fastest)] if result.fastest else []
    shown += [0] if 0 not in shown else []
    spreads, accounts = [], []
    for form in charts.FORMS:
        spreads.append(charts.spread(variants, form))
        drawn()
        if any(variant.account for variant in variants):
            accounts.append(charts.accounts(variants, form))
        drawn()
    tables = {at: table(waterfalls[at], objects, scales[at]) for at in shown}
    return NetworkView(place, result, document, spreads, accounts, waterfalls, scales, tables)


def _drawable(row: dict[str, Any], result: NetworkResult) -> charts.Variant:
    return charts.Variant(
        row["name"],
        result.best is not None and row["name"] == result.best.name,
        [(run["seed"], run["plt_ms"]) for run in row["runs"] if run["completed"]],
        row["median_plt_ms"],
        row["account"],
    )


def _scales(result: NetworkResult, waterfalls: list[Waterfall]) -> list[Scale]:
    """Give all completed runs one scale, so that they can be compared; each other has its own."""
    ends = [
        waterfall.end
        for variant, waterfall in zip(result.variants, waterfalls, strict=True)
        if variant.completed
    ]
    common = max(ends, default=0)
    return [
        Scale.to(common if variant.completed else waterfall.end)
        for variant, waterfall in zip(result.variants, waterfalls, strict=True)
    ]


# --- sentences ---


def _headline(networks: list[NetworkResult]) -> str:
    """Say which variant is best where, beginning with the one that is most often."""
    if all(network.fastest is None for network in networks):
        return "No run was completed."
    where: dict[str, list[str]] = {}
    alike, unclear = [], []
    for network in networks:
        if network.best is not None:
            where.setdefault(network.best.name, []).append(network.name)
        elif network.is_alike:
            alike.append(network.name)
        elif network.fastest is not None:
            unclear.append(network.name)
    ordered = sorted(where, key=lambda name: -len(where[name]))
    if ordered and len(where[ordered[0]]) == len(networks) > 1:
        return f"{ordered[0]} is best on every network."
    clauses = [f"{name} is best on {_listed(where[name])}" for name in ordered]
    clauses += [f"it hardly matters on {_listed(alike)}"] if alike else []
    clauses += [f"there is no clear winner on {_listed(unclear)}"] if unclear else []
    said = "; ".join(clauses)
    return f"{said[0].upper()}{said[1:]}." if not ordered else f"{said}."


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _methods(results: Sequence[PageResult]) -> str:
    """Say what was compared: protocols, windows, TLS."""
    variants = [variant.cell.variant for variant in results[0].networks[0].variants]
    protocols = _listed(list(dict.fromkeys(variant["protocol"] for variant in variants)))
    windows = _listed([str(iw) for iw in dict.fromkeys(variant["tcp"]["iw"] for variant in variants)])
    tls = next(iter(variants))["tls"]
    over = {None: "", "none": ", without TLS"}.get(tls, f", over TLS {tls}")
    return f"{protocols}, each with an initial window of {windows} segments{over}"
