"""Experiments: scenarios made from what a user chose, and their runs over all cores."""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

from loadstone import _native, files, names, pages, toml
from loadstone._native import (
    LoadstoneError,
    Outcome,
    Scenario,
    Stopper,
    live_access,
    run_live,
    run_many,
    traces_of,
)
from loadstone.files import InputError
from loadstone.pages import Page
from loadstone.settings import OF_SCENARIOS

RUNS_OF_RANDOM = 21
"""Runs of a scenario in which chance has a part; of any other, one says all."""

_LAST_SEED = 2**64 - 1
_MOMENT = 0.2
"""Seconds that Ctrl-C may wait."""

Chosen = dict[str, Any]
"""The options that were given, by the path of the scenario's field that each sets."""

_OF_SPREAD = ("spread", "spread_times")

OPTIONS = {setting.field: setting.flag for setting in OF_SCENARIOS.values()}
"""Which option sets which field; what is not given is left to the engine's defaults."""


SPREAD: Chosen = {"spread.network": 1, "spread.times": 10}
"""What varies in loads and comparisons where nothing else is said, in percent (docs/model.md#spread)."""
COMMON: Chosen = {"variant.tls": "1.3", **SPREAD}
"""What loads have where nothing else is said: a page is loaded as it would be served today."""
EXACT: Chosen = dict.fromkeys(SPREAD, 0)


def asked(given: dict[str, Any], *, exact: bool, usual: Chosen = SPREAD) -> Chosen:
    """Give what loads are made under: what options say, else what is common; if `exact`, nothing varies."""
    if exact and (varied := [OF_SCENARIOS[name].flag for name in _OF_SPREAD if given.get(name) is not None]):
        raise InputError(f"--exact: nothing varies with it: leave out {' and '.join(varied)}")
    fields = {**COMMON, **(EXACT if exact else usual), **chosen(given)}
    if before := given.get("before"):
        visited = [page if isinstance(page, Page) else pages.read(page) for page in before]
        fields["before"] = [json.loads(page.content.to_json()) for page in visited]
    if (likely := given.get("likely_next")) is not None:
        page = likely if isinstance(likely, Page) else pages.read(likely)
        fields["likely_next"] = json.loads(page.content.to_json())
    return fields


def chosen(given: dict[str, Any]) -> Chosen:
    """Give the scenario's fields that options set, which are given by their names, `_` for `-`."""
    followed = {
        name: given.get(setting.follows)
        for name, setting in OF_SCENARIOS.items()
        if setting.follows is not None and given.get(name) is None
    }
    given = {**given, **followed}
    return {
        setting.field: given[name] for name, setting in OF_SCENARIOS.items() if given.get(name) is not None
    }


def _networks(fields: dict[str, Any]) -> str:
    """Give the access link of a scenario, or the links of its topology with their names."""
    own: str = fields["network"]
    if not (topology := fields.get("topology")):
        return own
    return "; ".join(f"{link['name']} {link.get('network', own)}" for link in topology["links"])


@dataclass(frozen=True)
class Cell:
    """A scenario as it is reported."""

    scenario: Scenario
    network: str
    variant: dict[str, Any]
    spread: dict[str, int]
    """What varies with the seed, in percent."""
    seed: int
    topology: dict[str, Any] | None = None
    """Hosts and links, where these are not a browser behind one access link."""

    @classmethod
    def of(cls, scenario: Scenario) -> "Cell":
        """Read back what the engine understood, every field stated."""
        fields = json.loads(scenario.settings_json())
        spread = fields.get("spread") or {"network": 0, "times": 0}
        stated = fields["variant"], spread, fields["seed"], fields.get("topology")
        return cls(scenario, _networks(fields), *stated)

    @property
    def stated(self) -> dict[str, Any]:
        """Give the variant, with hosts and links where there are some: what tells it from others."""
        return self.variant if self.topology is None else {**self.variant, "topology": self.topology}

    @property
    def settings(self) -> dict[str, Any]:
        """Give what a scenario file says besides the page."""
        return {
            "network": self.network,
            "variant": self.variant,
            "spread": self.spread,
            "seed": self.seed,
        }

    def runs(self, asked: int | None) -> int:
        """Say how often it is run."""
        return asked or (RUNS_OF_RANDOM if self.scenario.is_random else 1)

    def jobs(self, runs: int, seed: int) -> list[tuple[Scenario, int]]:
        """Give the runs under the seeds `seed`, `seed` + 1, ..."""
        check_seeds(seed, runs, "--seed")
        return [(self.scenario, seed + k) for k in range(runs)]


def check_seeds(seed: int, runs: int, place: str) -> None:
    """Refuse runs for which there are no seeds."""
    if seed + runs - 1 > _LAST_SEED:
        raise InputError(f"{place}: {seed} leaves no room for {runs} runs: give less")


def nested(chosen: Chosen) -> dict[str, Any]:
    """Give chosen fields as a scenario has them, each in its place."""
    fields: dict[str, Any] = {}
    for path, value in chosen.items():
        *parents, last = path.split(".")
        place = fields
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return fields


def scenario(page: _native.Page, fields: dict[str, Any]) -> Scenario:
    """Make the scenario of a page.

    Raises `LoadstoneError`, which names the field.
    """
    return Scenario.of(page, json.dumps(fields))


def cell(page: Page, chosen: Chosen) -> Cell:
    """Make the scenario of a page under the chosen options."""
    fields = nested({**page.usual, **chosen})
    fields.update(traced(fields.get("network", "")))
    try:
        return Cell.of(scenario(page.content, fields))
    except LoadstoneError as error:
        why, field = error.args
        if field == "traces":
            raise InputError(why) from None
        raise InputError(f"{OPTIONS.get(field, page.name)}: {why}") from None


def traced(network: str, path_of: Callable[[str], str] = str) -> dict[str, Any]:
    """Give the fields of a network that follows traces: their texts, by names as others may see them.

    `path_of` gives where a trace is that the network names.
    """
    traces = traces_of(network)
    shown = dict(zip(traces, names.shown(traces), strict=True))
    if not traces:
        return {}
    return {
        "network": names.in_text(network, shown),
        "traces": {shown[name]: text_of(path_of(name)) for name in traces},
    }


def shown_networks(networks: Sequence[str]) -> list[str]:
    """Give networks with names in place of the absolute paths of their traces."""
    traces = [trace for network in networks for trace in traces_of(network)]
    shown = dict(zip(traces, names.shown(traces), strict=True))
    return [names.in_text(network, shown) for network in networks]


def text_of(path: str) -> str:
    """Read a text file; what is not text in it will be refused with its line."""
    data = files.read(path)
    if b"\0" in data:
        raise InputError(f"{path}: no text: unpack it first if it is an archive (tar)")
    return data.decode(errors="replace")


def read_scenario(path: str) -> Cell:
    """Read a scenario file: JSON, or TOML if its name ends in `.toml`."""
    is_toml = path.endswith(".toml")
    try:
        text = (
            json.dumps(toml.read(path, "a scenario file in TOML")) if is_toml else files.read(path).decode()
        )
        return Cell.of(Scenario(text))
    except LoadstoneError as error:
        why, field = error.args
        raise InputError(f"{path}: scenario{'.' if field else ''}{field}: {why}") from None
    except (UnicodeDecodeError, TypeError) as error:
        raise InputError(f"{path}: not a scenario file in JSON or TOML: {error}") from None


def refusal(error: LoadstoneError) -> InputError:
    """Say what a scenario asks for that cannot be carried out."""
    why, field = error.args
    return InputError(f"{OPTIONS.get(field, field)}: {why}" if field else why)


def execute_live(
    jobs: Sequence[tuple[Scenario, int]],
    threads: int | None,
    progress: Callable[[int], None] | None = None,
    *,
    machine_wide_beta: bool = False,
    packets: int | None = None,
) -> list[Outcome]:
    """Run all jobs over the kernel, `threads` of them at a time (one if it is left out), in their order.

    `machine_wide_beta` lets connections behave like several flows by CUBIC's beta, which is one for the
    whole machine while they run, instead of by a congestion control of their own. `packets` is how many
    of each run's are captured, if any.
    """
    if why_not := live_access():
        raise InputError(f"--live: {why_not}")
    outcomes: list[Outcome] = []
    stopper = Stopper()
    with ThreadPoolExecutor(threads or 1) as pool:
        try:
            run = partial(run_live, machine_wide_beta=machine_wide_beta, packets=packets)
            waiting = [pool.submit(run, scenario, seed, stopper) for scenario, seed in jobs]
            for begun in waiting:
                # Ctrl-C may be taken by another thread, and does not end a wait of this one.
                while not begun.done():
                    wait([begun], _MOMENT)
                outcomes.append(begun.result())
                if progress is not None:
                    progress(len(outcomes))
        except LoadstoneError as error:
            raise refusal(error) from None
        finally:
            # When one has failed or the user has had enough, none shall go on or begin.
            stopper.stop()
            pool.shutdown(wait=False, cancel_futures=True)
    return outcomes


@dataclass(frozen=True)
class UsualLoad:
    """What the loads of a scenario have in common; `None` where none was completed."""

    plt_ms: float | None
    """The median."""
    range_ms: tuple[float, float] | None
    """The fastest and the slowest."""
    sent_again: float
    """Packets that were sent again, on average."""


def usual_load(page: Page, chosen: Chosen, threads: int | None = None) -> UsualLoad:
    """Simulate the loads of a page under the chosen options, as many as chance makes necessary."""
    made = cell(page, chosen)
    outcomes = execute(made.jobs(made.runs(None), made.seed), threads)
    completed = [outcome for outcome in outcomes if outcome.completed]
    if not completed:
        return UsualLoad(None, None, 0.0)
    times = [outcome.plt_ms for outcome in completed]
    sent_again = statistics.mean(outcome.retransmissions for outcome in completed)
    return UsualLoad(statistics.median(times), (min(times), max(times)), sent_again)


def execute(
    jobs: Sequence[tuple[Scenario, int]],
    threads: int | None,
    progress: Callable[[int], None] | None = None,
    packets: int | None = None,
) -> list[Outcome]:
    """Run all jobs; the outcomes come in their order and do not depend on `threads`.

    Works in portions of about a fifth of a second, so that Ctrl-C is heeded between them.
    `progress` is told how many are done. `packets` is how many of each run's are captured, if any.
    """
    outcomes: list[Outcome] = []
    portion = 2
    while len(outcomes) < len(jobs):
        begun = time.monotonic()
        try:
            outcomes += run_many(jobs[len(outcomes) : len(outcomes) + portion], threads, packets)
        except LoadstoneError as error:
            raise refusal(error) from None
        if progress is not None:
            progress(len(outcomes))
        took = time.monotonic() - begun
        portion = min(4 * portion, max(2, int(portion * 0.2 / took))) if took > 0 else 4 * portion
    return outcomes
