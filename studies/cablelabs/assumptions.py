"""What is assumed of the study's laboratory, and what may as well be assumed otherwise.

The study does not say how long the queue was, what its servers' processors had to do, what its browser added,
nor some habits of both ends, which were found from its figures (README.md). Whatever leaves our load times
about as near to the study's (ablation.md: a score of 0.16 at most; it is 0.13) is left open by the study,
and every claim about the laboratory is held against it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from loadstone.files import InputError
from loadstone.reproduce.evidence import AS_STATED
from loadstone.stores.matrix import Matrix, Settings

BROWSER_MS = 1000
"""What the study's load times have besides the network's: the browser starts, reads, paints. One for all."""

RESPONSE, MEGABYTE = "variant.work.response_us", "variant.work.megabyte_us"
NO_WORK = {RESPONSE: None, MEGABYTE: None}
"""Servers whose processor costs nothing."""
NO_MEMORY: Settings = {"variant.tcp.mechanisms.metrics": False, "variant.earlier_loads": None}
"""Servers that remember no threshold of earlier connections."""
NO_NAGLE: Settings = {"variant.tcp.mechanisms.nagle": False}
TLS_1_2: Settings = {"tls": "1.2"}
"""No False Start, and a larger certificate."""
TOGETHER: Settings = {"variant.joining": None}
"""Requests join a session together, not one by one."""
KEPT_ALIVE: Settings = {"requests_per_connection": None, "variant.closing": None}
"""Servers that keep connections of HTTPS."""


# --- with something otherwise, and never silently the same ---


def without(matrix: Matrix, common: Settings, own: Settings) -> Matrix:
    """Change settings that all options have, and settings of single ones; `None` takes a setting out.

    Raises `InputError` where there is no such setting to change.
    """
    _check(matrix, common, matrix.common)
    _check(matrix, own, {name for settings in matrix.variants.values() for name in settings})
    variants = {option: _changed(settings, own) for option, settings in matrix.variants.items()}
    return replace(matrix, common=_changed(matrix.common, common), variants=variants)


def with_network(matrix: Matrix, old: str, new: str) -> Matrix:
    """Put `new` in the place of `old` in the network; raises `InputError` where `old` is not in it."""
    network = str(matrix.common["network"])
    if old not in network:
        raise InputError(f"{matrix.place}: network: there is no '{old}' in '{network}': change what there is")
    return replace(matrix, common={**matrix.common, "network": network.replace(old, new)})


def _check(matrix: Matrix, changes: Settings, known: Mapping[str, object] | set[str]) -> None:
    if missing := [name for name in changes if name not in known]:
        raise InputError(f"{matrix.place}: {missing[0]} is not set: change what is")


def _changed(settings: Mapping[str, object], changes: Settings) -> Settings:
    changed = {name: changes.get(name, value) for name, value in settings.items()}
    return {name: value for name, value in changed.items() if value is not None}


# --- what the study leaves open ---


@dataclass(frozen=True)
class Assumption:
    """The laboratory with one thing otherwise."""

    matrix: Callable[[Matrix], Matrix] = lambda matrix: matrix
    browser_ms: int = BROWSER_MS


def _network(old: str, new: str) -> Assumption:
    return Assumption(lambda matrix: with_network(matrix, old, new))


def _settings(common: Settings, own: Settings) -> Assumption:
    return Assumption(lambda matrix: without(matrix, common, own))


def _work_over_https(matrix: Matrix) -> Matrix:
    """Let HTTPS cost the servers as much as the grid of constants.py has at most."""
    variants = {
        option: {**settings, MEGABYTE: 400_000} if settings["protocol"] == "http/1.1" else settings
        for option, settings in matrix.variants.items()
    }
    return replace(matrix, variants=variants)


STATED = Assumption()
LEFT_OPEN: Mapping[str, Assumption] = {
    "a queue of 50 packets": _network("150p", "50p"),
    "a queue of 200 packets": _network("150p", "200p"),
    "loss in both directions": _network("%/0%", "%"),
    "no responses that Nagle's algorithm holds back": _settings(NO_NAGLE, {}),
    "no False Start, and a larger certificate (TLS 1.2)": _settings(TLS_1_2, {}),
    "requests that join a session together": _settings({}, TOGETHER),
    "no thresholds that the kernel remembers": _settings(NO_MEMORY, {}),
    "servers whose processor costs nothing": _settings({}, NO_WORK),
    "responses that cost 4 ms": _settings({}, {RESPONSE: 4_000}),
    "1.1 s for a megabyte over SPDY": _settings({}, {MEGABYTE: 1_100_000}),
    "0.4 s for a megabyte over HTTPS": Assumption(_work_over_https),
    "a browser that adds 0.7 s": Assumption(browser_ms=700),
    "a browser that adds 1.4 s": Assumption(browser_ms=1_400),
}
"""One thing otherwise; ablation.md has what each makes of the scores."""


def named(assumption: str) -> Assumption:
    """Give what is assumed."""
    return STATED if assumption == AS_STATED else LEFT_OPEN[assumption]
