"""Options and columns are defined once, in the engine: help, types, docs and schema follow."""

import copy
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from loadstone.cli import main
from loadstone.options import USUAL_SPREAD
from loadstone.settings import OF_SCENARIOS, OF_SERVERS, Setting

GENERATE = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "generate"))


def test_what_is_checked_in_follows_from_the_definitions() -> None:
    known = GENERATE["definitions"]()
    for name, made in GENERATE["FILES"].items():
        assert (GENERATE["ROOT"] / name).read_text() == made(known), f"{name} is stale: run 'make generate'"


@pytest.mark.parametrize(("verb", "settings"), [("load", OF_SCENARIOS), ("serve", OF_SERVERS)])
def test_help_shows_each_flag_with_its_choices_range_default_and_meaning(
    verb: str, settings: dict[str, Setting], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    shown = capsys.readouterr().out
    for setting in settings.values():
        said = f"{setting.flag} {setting.metavar} {' '.join(setting.help.split())}"
        notes = []
        if default := USUAL_SPREAD.get(setting.name, setting.default_in_words):
            notes.append(f"default: {default}")
        if setting.maximum is not None:
            notes.append(f"{setting.minimum:,} to {setting.maximum:,}")
        expected = f"{said} [{'; '.join(notes)}]" if notes else said
        # Where a line breaks in a long word, there is a space that is not in the text.
        assert "".join(expected.split()) in "".join(shown.split()), setting.flag


def test_when_one_definition_changes_all_that_follows_from_it_changes() -> None:
    known = GENERATE["definitions"]()
    made = {name: write(known) for name, write in GENERATE["FILES"].items()}

    def changed(*path: Any, to: Any) -> set[str]:
        other = copy.deepcopy(known)
        *parents, last = path
        place: Any = other
        for step in parents:
            place = place[step]
        place[last] = to
        return {name for name, write in GENERATE["FILES"].items() if write(other) != made[name]}

    at = {option["name"]: index for index, option in enumerate(known["options"])}
    types, stub, docs = "python/loadstone/typed.py", "python/loadstone/_native.pyi", "docs/options.md"
    assert changed("options", at["cc"], "choices", to=["reno", "vegas"]) == {types, docs}
    assert changed("options", at["iw"], "default", to=32) == {types, docs}
    assert changed("options", at["iw"], "help", to="Another.") == {types, docs}
    assert changed("options", at["iw"], "flag", to="--window") == {docs}
    assert changed("columns", "run", 1, "name", to="onload_ms") == {stub, docs}
    assert changed("columns", "waterfall", 2, "unit", to="KB") == {types, docs}
    assert changed("schema", "title", to="Another") == {"docs/scenario.schema.json"}


def test_the_schema_has_each_option_with_the_same_choices_and_range() -> None:
    schema = json.loads((GENERATE["ROOT"] / "docs/scenario.schema.json").read_text())

    def resolved(part: dict) -> dict:
        if "$ref" in part:
            return resolved(schema["$defs"][part["$ref"].rpartition("/")[2]])
        others = [each for each in part.get("anyOf", []) if each.get("type") != "null"]
        return resolved(others[0]) if others else part

    for setting in OF_SCENARIOS.values():
        part = schema
        for step in setting.field.split("."):
            part = resolved(part)["properties"][step]
        part = resolved(part)
        choices = part.get("enum") or [each["const"] for each in part.get("oneOf", [])]
        assert [choice for choice in choices if choice is not None] == setting.choices, setting.flag
        assert (part.get("minimum"), part.get("maximum")) == (setting.minimum, setting.maximum), setting.flag


def test_what_the_engine_refuses_is_outside_of_the_choices(capsys: pytest.CaptureFixture[str]) -> None:
    for setting in OF_SCENARIOS.values():
        if not setting.choices:
            continue
        with pytest.raises(SystemExit) as ended:
            main(["load", "synthetic:A", setting.flag, "nonesuch"])
        said = capsys.readouterr().err
        assert ended.value.code == 2 and setting.flag in said, said
        assert set(setting.choices) <= set(re.findall(r"[\w./+-]*\w", said)), said
