"""What would make a page faster: parts of it left out, smaller, nearer, found earlier, one at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from loadstone import comparison, experiment, variants
from loadstone._native import domain_of, nearer_network
from loadstone.comparison import NetworkPlan, NetworkResult, PagePlan, VariantResult
from loadstone.entities import entity_of
from loadstone.experiment import Cell, Chosen
from loadstone.pages import Page

_FEW = 3
"""Runs that are enough to see what saves little."""

EDGE_MS = 20.0
"""How far an edge server is."""

NETWORK = "4g"
"""Where nothing is said: most users are on phones."""

AS_IT_IS = "as it is"
NEARER = f"nearer, at {EDGE_MS:.0f} ms"
PRECONNECTED = "preconnected"
HINTED = "hinted by 103"
PUSHED = "pushed"
UNSHARDED = "one host for each domain"
PRIORITISED = "prioritised by dependencies"
INLINED = "inlined"
ASYNC = "async"

_OF_SITES = ("half the bytes", "cached", PRECONNECTED, "on the main host", NEARER)
_OF_KINDS = ("half the bytes", "cached")
_OF_OBJECTS = ("half the bytes", "cached", "on the main host")
_FOUND_EARLIER = ("preloaded", HINTED, PUSHED)
"""Not for documents: nobody has them before the page shows them."""
_OF_TEXTS = {"css": (INLINED,), "js": (INLINED, ASYNC)}
"""What an author may do to style sheets and scripts."""
_LEFT_OUT = ("left out",)
"""Only of what a page can do without: third parties, and what is no document and no redirect."""

_DISPENSABLE = ("image", "js", "css", "font", "media", "json", "xhr")

_POLICIES: dict[str, Chosen] = {
    HINTED: {"variant.foresight.hint": "all"},
    PUSHED: {"variant.foresight.push": "dependencies", "variant.foresight.push_levels": 16},
    UNSHARDED: {"variant.sharding": "domains"},
    PRIORITISED: {"variant.priorities": "dependencies"},
}
"""What is done to all of a page by settings."""
_LISTED: dict[str, Chosen] = {
    HINTED: {"variant.foresight.hint": "listed"},
    PUSHED: {"variant.foresight.push": "listed"},
}
"""The same for some of its objects."""

UNCERTAIN = (PRECONNECTED, *_FOUND_EARLIER, PRIORITISED, INLINED, ASYNC)
"""What turns on when objects are found, which a HAR tells by rules only (docs/pages.md#har-files)."""


@dataclass(frozen=True)
class Part:
    """Some objects of a page."""

    what: str
    """`third parties`, `entity`, `domain`, `host`, `kind`, `object` or `page`."""
    name: str
    places: frozenset[int]
    """Which objects, in the page's order."""
    changes: tuple[str, ...]
    """What may be done to them."""


@dataclass(frozen=True)
class Idea:
    """A change of a part of a page."""

    part: Part
    change: str

    @property
    def name(self) -> str:
        """Give a name that no other idea has."""
        return f"{self.part.what} {self.part.name}: {self.change}"


@dataclass(frozen=True)
class Saving:
    """What an idea is worth."""

    idea: Idea
    result: VariantResult
    base_ms: float

    @property
    def ms(self) -> float:
        """Say how much faster the page is; below 0 it is slower."""
        return self.base_ms - (self.result.median_plt_ms or 0.0)

    @property
    def interval_ms(self) -> tuple[float, float] | None:
        """Give the ends of the 95 % interval of that."""
        gain = self.result.gain
        if gain is None or gain.low is None or gain.high is None:
            return None
        return self.base_ms * (1 - 1 / gain.low), self.base_ms * (1 - 1 / gain.high)

    @property
    def is_clear(self) -> bool:
        """Say whether chance does not explain it."""
        return self.result.gain is not None and self.result.gain.is_clear


@dataclass(frozen=True)
class Savings:
    """A page on one network, and what each idea would save, the best first."""

    page: str
    base: VariantResult
    network: NetworkResult
    savings: list[Saving]
    is_recorded: bool
    """Whether a recording says when the page's objects are found."""
    tried: int
    """How many ideas were tried, those included that too few runs were enough to leave out."""

    @property
    def best(self) -> list[Saving]:
        """Give those that clearly make the page faster."""
        return [saving for saving in self.savings if saving.is_clear and saving.ms > 0]

    @property
    def is_guessed(self) -> bool:
        """Say whether any of them turns on when objects are found, and that is guessed."""
        return any(self.is_guess(saving) for saving in self.best)

    def is_guess(self, saving: Saving) -> bool:
        """Say whether one turns on when objects are found, and that is guessed."""
        return saving.idea.change in UNCERTAIN and not self.is_recorded


def settings(page: Page, chosen: Chosen) -> Chosen:
    """Give the settings of a page's loads: what was chosen; else hosts speak what they spoke, on 4g."""
    common = {**experiment.COMMON, "network": NETWORK, **chosen}
    if "variant.protocol" in chosen:
        return common
    spoken = variants.Variant(variants.RECORDED, {}, is_recorded=True)
    return spoken.fields(page, common) if page.protocols else {**common, "variant.protocol": "h2"}


def what_if(
    page: Page,
    chosen: Chosen,
    runs: int | None,
    threads: int | None,
    progress: Callable[[int, int], None],
    most: int | None = None,
) -> Savings:
    """Load the page as it is and under each idea, all under the same seeds.

    With `most`, three runs choose the ideas that seem to save so much, and only these are run in full.
    """
    base = experiment.cell(page, chosen)
    outcome = experiment.execute(base.jobs(1, base.seed), 1)[0]
    shown = outcome.waterfall()
    kinds = dict(zip(shown["name"], shown["kind"], strict=True))
    critical = list(dict.fromkeys(outcome.path()["name"]))
    ideas = {idea.name: idea for part in _parts(page, kinds, critical) for idea in _ideas(part)}
    cells = {name: cell for name, idea in ideas.items() if (cell := _cell(page, chosen, idea))}

    def tried(names: Iterable[str], runs: int | None) -> Savings:
        some = {name: cells[name] for name in names}
        plan = PagePlan(page.name, None, [NetworkPlan(base.network, {AS_IT_IS: base, **some})])
        (result,) = comparison.carry_out([plan], runs, threads, progress)
        network = result.networks[0]
        first, *others = network.variants
        savings = [Saving(ideas[one.name], one, first.median_plt_ms or 0.0) for one in others]
        savings.sort(key=lambda saving: -saving.ms)
        return Savings(page.name, first, network, savings, page.is_recorded, len(cells))

    if most is None or len(cells) <= most:
        return tried(cells, runs)
    return tried([saving.idea.name for saving in tried(cells, _FEW).savings[:most]], runs)


def _ideas(part: Part) -> Iterator[Idea]:
    return (Idea(part, change) for change in part.changes)


def _cell(page: Page, chosen: Chosen, idea: Idea) -> Cell | None:
    """Give the scenario of an idea; `None` if it changes nothing."""
    if idea.change == PUSHED and not _is_pushing(page, chosen, idea.part):
        return None
    if idea.part.what == "page" and idea.change in _POLICIES:
        return _with_policy(page, chosen, idea.change)
    if idea.change in _LISTED:
        listed = page.content.changed("listed", set(idea.part.places))
        if listed is None:
            return None
        return experiment.cell(replace(page, content=listed), {**chosen, **_LISTED[idea.change]})
    if idea.change == NEARER:
        # As it was given: a trace in it is named by its path.
        nearer = nearer_network(chosen["network"], EDGE_MS)
        if nearer is None:
            return None
        network, ms = nearer
        hosts = [host for _, host in page.content.names_and_hosts()]
        content = page.content.nearer({hosts[at] for at in idea.part.places}, ms)
        return experiment.cell(replace(page, content=content), {**chosen, "network": network})
    changed = page.content.changed(idea.change, set(idea.part.places))
    if changed is None:
        return None
    known = chosen.get("variant.protocol_of") or {}
    left = {host for _, host in changed.names_and_hosts()}
    fields = {**chosen, "variant.protocol_of": {host: known[host] for host in known if host in left}}
    return experiment.cell(replace(page, content=changed), fields)


def _is_pushing(page: Page, chosen: Chosen, part: Part) -> bool:
    """Say whether the document's server has something of a part, and speaks a protocol that knows pushes."""
    hosts = [host for _, host in page.content.names_and_hosts()]
    spoken = str((chosen.get("variant.protocol_of") or {}).get(hosts[0], chosen.get("variant.protocol", "")))
    has_some = any(hosts[at] == hosts[0] for at in part.places if at > 0)
    return has_some and (spoken == "h2" or spoken.startswith("spdy"))


def _with_policy(page: Page, chosen: Chosen, change: str) -> Cell | None:
    """Give the scenario of a page whose servers behave so; `None` if it changes nothing."""
    fields = {**chosen, **_POLICIES[change]}
    if change == UNSHARDED:
        hosts = {host for _, host in page.content.names_and_hosts()}
        if len({domain_of(host) for host in hosts}) == len(hosts):
            return None
        # Hosts that are no more speak nothing.
        fields.pop("variant.protocol_of", None)
    return experiment.cell(page, fields)


def _parts(page: Page, kinds: dict[str, str], critical: Sequence[str]) -> Iterator[Part]:
    """Give the parts of a page, from large to small."""
    names, hosts = zip(*page.content.names_and_hosts(), strict=True)
    domains = [domain_of(host) for host in hosts]
    everything = frozenset(range(len(names)))
    foreign = frozenset(at for at in everything if domains[at] != domains[0])
    yield Part("page", "all of it", everything, ("half the bytes", PRECONNECTED, NEARER, *_POLICIES))
    if foreign:
        yield Part("third parties", "all of them", foreign, _LEFT_OUT + _OF_SITES)
    seen = {everything}
    for what, labels in (("domain", domains), ("host", hosts), ("entity", [*map(entity_of, hosts)])):
        for label in dict.fromkeys(labels):
            places = frozenset(at for at in everything if labels[at] == label)
            # A host that is all of its domain goes by the domain, an entity of one domain as well.
            if label is not None and places not in seen:
                seen.add(places)
                yield Part(what, label, places, (_LEFT_OUT if places <= foreign else ()) + _OF_SITES)
    for kind in dict.fromkeys(kinds.values()):
        places = frozenset(at for at in everything if kinds.get(names[at]) == kind)
        left_out = _LEFT_OUT if kind in _DISPENSABLE else ()
        yield Part("kind", kind, places, left_out + _OF_KINDS + _OF_TEXTS.get(kind, ()))
    for name in critical:
        if name in names and (at := names.index(name)) > 0:
            kind = kinds.get(name, "")
            left_out = _LEFT_OUT if kind in _DISPENSABLE else ()
            earlier = () if kind == "html" else _FOUND_EARLIER
            changes = left_out + _OF_OBJECTS + earlier + _OF_TEXTS.get(kind, ())
            yield Part("object", name, frozenset([at]), changes)
