"""Whether assertions hold: of each page on each network a check, with the figures that decided it."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone import text
from loadstone.files import InputError
from loadstone.gate import explanation
from loadstone.gate.assertion import BEST, PLACE, Asked, Assertion, Meaning
from loadstone.gate.earlier import Earlier
from loadstone.gate.figures import FIGURES
from loadstone.gate.findings import Findings, NetworkFindings
from loadstone.stats import LEAST_PAIRS


@dataclass(frozen=True)
class Given:
    """A figure that was asked for, and found."""

    asked: Asked
    variant: str
    value: float

    @property
    def name(self) -> str:
        """Give the figure with the variant that was meant: `plt(h2 IW 3)`."""
        figure = f"{self.asked.figure}({self.variant})"
        return f"before({figure})" if self.asked.is_before else figure

    @property
    def unit(self) -> str:
        """Give its unit; empty for numbers."""
        return FIGURES[self.asked.figure].unit


@dataclass(frozen=True)
class Case:
    """An assertion about certain variants, of a page on a network."""

    figures: tuple[Given, ...]
    failure: str | None
    """Why it does not hold."""


@dataclass(frozen=True)
class Check:
    """An assertion, of a page on a network."""

    assertion: str
    page: str
    network: str
    cases: tuple[Case, ...]

    @property
    def failures(self) -> list[str]:
        """Say why it does not hold, each reason once; nothing if it does."""
        return list(dict.fromkeys(case.failure for case in self.cases if case.failure is not None))

    @property
    def holds(self) -> bool:
        """Say whether it holds."""
        return not self.failures


def judge(assertions: Sequence[Assertion], now: Findings, earlier: Earlier | None) -> list[Check]:
    """Check each assertion for each page on each network, in this order."""
    places = [
        (page, network, _then(earlier, now, page, network))
        for page, networks in now.pages.items()
        for network in networks.values()
    ]
    return [
        Check(
            assertion.text,
            page,
            network.name,
            tuple(_case(assertion, meaning, network, then) for meaning in assertion.cases),
        )
        for assertion in assertions
        for page, network, then in places
    ]


def _then(earlier: Earlier | None, now: Findings, page: str, network: NetworkFindings) -> NetworkFindings:
    """Give what was found there before; without such findings no assertion asks for it."""
    if earlier is None:
        return network
    return earlier.page(page, len(now.pages))[network.name]


def _case(assertion: Assertion, meaning: Meaning, now: NetworkFindings, then: NetworkFindings) -> Case:
    figures: list[Given] = []
    try:
        for asked in assertion.asked:
            figures.append(_found(asked, meaning, then if asked.is_before else now))
        values = {given.asked.call: given.value for given in figures}
        if assertion.condition.holds(values):
            return Case(tuple(figures), None)
        why = explanation.because(assertion.condition.deciding(values))
    except InputError as error:
        why = str(error).removeprefix(f"{PLACE}: ")
    meant = {given.asked.call: given.name for given in figures}
    return Case(tuple(figures), explanation.with_names(why, assertion.condition.spellings, meant))


def _found(asked: Asked, meaning: Meaning, network: NetworkFindings) -> Given:
    """Look a figure up; what cannot be relied upon is an error."""
    when = "before, " if asked.is_before else ""
    name = meaning[asked.name]
    if name == BEST:
        if network.best is None:
            raise InputError(f"{when}no load of any variant was completed, so there is no best")
        name = network.best
    figure, variant = FIGURES[asked.figure], network.variants[name]
    for one in figure.whose(variant, network):
        if one.incomplete:
            loads = f"{one.incomplete} of {text.count(len(one.seeds), 'load')} of {one.name}"
            raise InputError(f"{when}{loads} did not complete, so there is no {asked.figure}({name})")
    value = figure.of(variant, network)
    if value is None:
        raise InputError(
            f"{when}{asked.figure}({name}) needs {LEAST_PAIRS} loads and there are {len(variant.seeds)}: "
            f"give --runs {LEAST_PAIRS} or more"
        )
    return Given(asked, name, value)
