"""What can be set and what a run gives, as the engine lists it, each once."""

import json
from dataclasses import dataclass
from typing import Any

from loadstone._native import columns_json, edge_options_json, scenario_options_json, server_options_json


@dataclass(frozen=True)
class Setting:
    """An option of a command, which sets a field of a scenario, a server or an edge."""

    name: str
    """As a word of a programming language: `max_streams`."""
    flag: str
    """As it is given: `--max-streams`."""
    field: str
    """The path of the field."""
    type: str
    """`integer` or `string`."""
    metavar: str
    choices: list[str]
    minimum: int | None
    maximum: int | None
    default: Any
    """What it is where it is left out; `None` if that depends on something else, as `help` says."""
    follows: str | None
    """The setting whose value it has where it is left out itself."""
    help: str

    @property
    def default_in_words(self) -> str | None:
        """Say what it is where it is left out."""
        if self.follows is not None:
            return f"as --{self.follows}"
        return None if self.default is None else f"{self.default}"


def _read(text: str) -> dict[str, Setting]:
    return {fields["name"]: Setting(**fields) for fields in json.loads(text)}


OF_SCENARIOS = _read(scenario_options_json())
"""By name."""
OF_SERVERS = _read(server_options_json())
"""By name."""
OF_EDGES = _read(edge_options_json())
"""By name."""


@dataclass(frozen=True)
class Column:
    """A column of what a run gives."""

    name: str
    kind: str
    """`boolean`, `integer`, `number` or `string`."""
    unit: str
    nullable: bool
    """Whether a value may be missing, because something did not happen."""
    help: str


OF_RUNS = {fields["name"]: Column(**fields) for fields in json.loads(columns_json())["run"]}
"""The columns of a run, by name: attributes of an `Outcome`."""
