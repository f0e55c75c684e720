"""The page of a report, put together from the document of `compare --json`, charts and waterfalls."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from markupsafe import Markup, escape

from loadstone import __version__, experiment, savings_output, text, verb_output
from loadstone.account import PARTS
from loadstone.comparison import NetworkResult, PageResult, VariantResult
from loadstone.experiment import Chosen
from loadstone.html import headline, strips, timeline_chart
from loadstone.html.palette import HATCHES
from loadstone.html.strips import Scale, us
from loadstone.html.templates import embedded, environment
from loadstone.html.timeline_chart import TimelineChart
from loadstone.html.waterfalls import Objects, Waterfall
from loadstone.pages import Page
from loadstone.savings import Savings, what_if
from loadstone.variants import Variant

_MOST_IDEAS = 8
_MOST_PACKETS = 100_000
_LONGEST = 8
"""How many of the pieces that a load waited for are named."""


@dataclass(frozen=True)
class Bar:
    """A row of a chart: a load's account, and the runs it is one of."""

    name: str
    is_best: bool
    ms: float | None
    account: Markup
    runs: Markup


@dataclass(frozen=True)
class Chart:
    """Bars on one time axis."""

    bars: list[Bar]
    axis: Markup


@dataclass(frozen=True)
class NetworkView:
    """One page on one network, as the page shows it."""

    id: str
    result: NetworkResult
    document: dict[str, Any]
    chart: Chart
    timeline: TimelineChart | None
    """How TCP fared in the median run of the fastest variant."""
    waterfalls: list[Waterfall]
    scales: list[Scale]

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
    def pieces(self) -> list[tuple[str, str]]:
        """Give the longest pieces of what the load of the fastest variant waited for."""
        if self.result.fastest is None:
            return []
        longest = headline.pieces(self.result.fastest.middle_run, _LONGEST)
        return [(text.ms(piece[0]), headline.said(piece)) for piece in longest]

    @property
    def is_accounted(self) -> bool:
        """Say whether any variant has an account."""
        return any(row["account"] for row in self.document["variants"])

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
            {"name": variant.name, "scenario": variant.cell.settings, **waterfall.data(scale)}
            for variant, waterfall, scale in zip(
                self.result.variants, self.waterfalls, self.scales, strict=True
            )
        ]
        return {"name": self.result.name, "variants": variants}


@dataclass(frozen=True)
class PageView:
    """One page on all networks, as the page shows it."""

    id: str
    title: str
    """The site, or the file's name."""
    name: str
    facts: str
    measured: str
    """Up to what loads are measured, if it is not the load event."""
    recorded: list[str]
    """How the recorded load compares with the simulated one."""
    page: Any
    objects: Objects
    networks: list[NetworkView]
    chart: Chart
    """The fastest load of each network."""
    savings: Savings | None

    @property
    def headline(self) -> str:
        """Say which variant is best where."""
        return headline.verdict([network.result for network in self.networks])

    @property
    def focus(self) -> NetworkResult | None:
        """Give the network that the page is explained on."""
        return headline.focus([network.result for network in self.networks])

    @property
    def own_time(self) -> str:
        """Say where the time goes that no protocol can save."""
        return headline.own_time(self.focus) if self.focus is not None else ""

    def data(self) -> dict[str, Any]:
        """Give what the page's script needs."""
        objects = self.objects
        return {
            "name": self.title,
            "page": self.page,
            "names": objects.names,
            "labels": objects.labels,
            "hosts": objects.hosts,
            "kinds": objects.kinds,
            "sizes": objects.sizes,
            "networks": [network.data() for network in self.networks],
        }


def savings(
    results: Sequence[PageResult],
    pages: Sequence[Page],
    baseline: Variant,
    networks: Sequence[str],
    chosen: Chosen,
    threads: int | None,
    progress: Callable[[int, int], None],
) -> list[Savings | None]:
    """Find what would help each page most under the baseline, on the network it is explained on.

    `networks` are those of the results, as they were asked for.
    """
    found: list[Savings | None] = []
    for page, result in zip(pages, results, strict=True):
        network = headline.focus(result.networks)
        if network is None or not network.variants[0].completed:
            found.append(None)
            continue
        asked = networks[result.networks.index(network)]
        fields = baseline.fields(page, {**experiment.COMMON, **chosen, "network": asked})
        found.append(what_if(page, fields, None, threads, progress, _MOST_IDEAS))
    return found


def render(
    results: Sequence[PageResult], pages: Sequence[Page], savings: Sequence[Savings | None], command: str
) -> str:
    """Give the report as HTML, with what would make each page faster; `command` repeats the comparison."""
    document = verb_output.compare_document(results)
    views = [
        _page_view(f"page-{at}", page, saved, result, shown)
        for at, (page, saved, result, shown) in enumerate(
            zip(pages, savings, results, document["pages"], strict=True)
        )
    ]
    data = {"parts": [[key, part.label, part.spent] for key, part in PARTS.items()]}
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
            change=savings_output.change,
            part=savings_output.part,
            interval=savings_output.interval,
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
    place: str, page: Page, savings: Savings | None, result: PageResult, document: dict[str, Any]
) -> PageView:
    networks = [
        _network_view(f"{place}-network-{at}", network, shown)
        for at, (network, shown) in enumerate(zip(result.networks, document["networks"], strict=True))
    ]
    first = result.networks[0].variants[0]
    summary = page.summary()
    name = PurePath(text.harmless(page.name)).name or text.harmless(page.name)
    title = _site(page) or name
    facts = [
        text.count(summary["objects"], "object"),
        text.size(summary["bytes"]),
        text.count(summary["hosts"], "host"),
        f"{summary['depth']} deep" if summary["depth"] > 1 else "",
    ]
    return PageView(
        place,
        title,
        name,
        ", ".join(fact for fact in facts if fact),
        verb_output.measured_text(result.measured) if result.measured else "",
        result.recorded.lines("This page") if result.recorded else [],
        json.loads(first.cell.scenario.to_json())["page"],
        Objects.of(first.outcomes[0].waterfall()),
        networks,
        _fastest(networks),
        savings,
    )


def _site(page: Page) -> str | None:
    """Give the host of a recorded page's root."""
    _, host = page.content.names_and_hosts()[0]
    return text.harmless(host) if page.notes else None


def _network_view(place: str, result: NetworkResult, document: dict[str, Any]) -> NetworkView:
    waterfalls = [Waterfall.of(variant.middle_run, variant.outcomes) for variant in result.variants]
    return NetworkView(
        place,
        result,
        document,
        _variants(result, document),
        _timeline(result),
        waterfalls,
        _scales(result, waterfalls),
    )


def _timeline(result: NetworkResult) -> TimelineChart | None:
    """Run the median run of the fastest variant once more, with its packets, and draw how TCP fared."""
    if (fastest := result.fastest) is None:
        return None
    run = fastest.middle_run
    [captured] = experiment.execute([(fastest.cell.scenario, run.seed)], 1, packets=_MOST_PACKETS)
    drawn = captured.timeline_json()
    about = f"{fastest.name}, seed {run.seed}"
    return timeline_chart.chart(json.loads(drawn), about, run.plt_ms) if drawn else None


def _variants(result: NetworkResult, document: dict[str, Any]) -> Chart:
    """Draw each variant's account, and its runs."""
    rows = document["variants"]
    runs = [[(run["seed"], run["plt_ms"]) for run in row["runs"] if run["completed"]] for row in rows]
    scale = Scale.to(us(max((ms for times in runs for _, ms in times), default=0)))
    best = result.best and result.best.name
    bars = [
        Bar(
            row["name"],
            row["name"] == best,
            row["median_plt_ms"],
            strips.account(row["name"], row["account"], scale, at) if row["account"] else Markup(""),
            strips.runs(row["name"], times, scale, at),
        )
        for at, (row, times) in enumerate(zip(rows, runs, strict=True))
    ]
    return Chart(bars, strips.axis(scale))


def _fastest(networks: Sequence[NetworkView]) -> Chart:
    """Draw the account of the fastest variant on each network."""
    rows = [(network.result.name, row) for network in networks if (row := network.fastest)]
    scale = Scale.to(us(max((row["median_plt_ms"] for _, row in rows), default=0)))
    bars = [
        Bar(
            text.harmless(name),
            is_best=False,
            ms=row["median_plt_ms"],
            account=strips.account(f"{text.harmless(name)}, {row['name']}", row["account"], scale, at),
            runs=Markup(""),
        )
        for at, (name, row) in enumerate(rows)
        if row["account"]
    ]
    return Chart(bars, strips.axis(scale))


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


def _methods(results: Sequence[PageResult]) -> str:
    """Say what was compared: protocols, windows, TLS."""
    variants = [variant.cell.variant for variant in results[0].networks[0].variants]
    protocols = headline.listed(list(dict.fromkeys(variant["protocol"] for variant in variants)))
    windows = headline.listed([str(iw) for iw in dict.fromkeys(variant["tcp"]["iw"] for variant in variants)])
    tls = next(iter(variants))["tls"]
    over = {None: "", "none": ", without TLS"}.get(tls, f", over TLS {tls}")
    return f"{protocols}, each with an initial window of {windows} segments{over}"
