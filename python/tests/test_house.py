"""The rules of the house, which nobody has to remember. CONTRIBUTING.md says why."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT

CRATES = ROOT / "crates"

# What each crate may use of the others, directly; it may also use what those may.
ARROWS = {
    "units": set(),
    "http": {"units"},
    "net": {"units"},
    "load": {"http"},
    "scenario": {"load", "net"},
    "sim": {"scenario"},
    "live": {"load", "net"},
    "bed": {"scenario", "live"},
    "py": {"sim", "bed"},
}
# What touches the world: threads, sockets, the clock.
DRIVERS = {"bed", "live", "py"}
PURE = set(ARROWS) - DRIVERS
ALLOWED_IN_PURE = {"bytes", "flate2", "httparse", "serde", "serde_json", "serde_path_to_error", "thiserror"}

# Where system calls are made that the standard library does not know.
UNSAFE = {"crates/bed/src/kernel.rs"}

LONGEST_FUNCTION = 70
LONGEST_FILE = 600
BANNED_NAMES = {"util", "utils", "common", "helper", "helpers", "misc", "core", "manager"}


def manifest(crate: str) -> dict:
    return tomllib.loads((CRATES / crate / "Cargo.toml").read_text())


def reachable(crate: str) -> set[str]:
    return ARROWS[crate].union(*(reachable(target) for target in ARROWS[crate]))


def sources() -> list[Path]:
    """Give the Rust files of all crates, without tests and benches."""
    found = sorted(CRATES.glob("*/src/**/*.rs"))
    return [path for path in found if path.name != "tests.rs" and "tests" not in path.parts]


def without_tests(path: Path) -> list[str]:
    """Give the lines of a file up to its module of tests."""
    lines = path.read_text().split("\n")
    begins = [at for at, line in enumerate(lines) if line == "#[cfg(test)]"]
    return lines[: begins[0]] if begins else lines


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(lines: list[str]) -> Iterator[tuple[str, int]]:
    """Give name and length of each function: from `fn` to the brace in its column."""
    opening = re.compile(r"^( *)(?:pub(?:\([a-z]+\))? |const |async |extern |unsafe )*fn (\w+)")
    for at, line in enumerate(lines):
        if match := opening.match(line):
            if line.rstrip().endswith((";", "}")):
                continue
            end = next(
                (k for k in range(at, len(lines)) if lines[k] in (match[1] + "}", match[1] + ");")), at
            )
            yield match[2], end - at + 1


def test_there_are_sources_to_judge() -> None:
    assert {path.relative_to(CRATES).parts[0] for path in sources()} == set(ARROWS)
    assert sum(1 for path in sources() for _ in functions(without_tests(path))) > 200


def test_the_reader_of_functions_sees_what_it_should() -> None:
    lines = [
        "impl X {",
        "    pub(crate) const fn a(&self) -> u8 {",
        "        1",
        "    }",
        "    fn b(",
        "        x: u8,",
    ]
    lines += ["    ) -> u8 {", "        x", "    }", "    fn declared(&self);", "}"]
    assert list(functions(lines)) == [("a", 3), ("b", 5)]


@pytest.mark.parametrize("crate", ARROWS)
def test_arrows_between_crates_point_where_they_may(crate: str) -> None:
    used = {
        name.removeprefix("loadstone-") for name in manifest(crate)["dependencies"] if "loadstone" in name
    }
    assert used <= reachable(crate)


@pytest.mark.parametrize("crate", sorted(PURE))
def test_pure_crates_depend_on_little(crate: str) -> None:
    used = {name for name in manifest(crate)["dependencies"] if not name.startswith("loadstone-")}
    assert used <= ALLOWED_IN_PURE
    assert "features" not in manifest(crate)


@pytest.mark.parametrize("crate", ARROWS)
def test_versions_and_lints_are_the_workspace_s(crate: str) -> None:
    cargo = manifest(crate)
    assert cargo["lints"] == {"workspace": True}
    for section in ("dependencies", "dev-dependencies"):
        for name, entry in cargo.get(section, {}).items():
            assert isinstance(entry, dict) and entry.get("workspace"), (
                f"{name}: the workspace states its version"
            )


def test_functions_fit_a_screen() -> None:
    long = [
        f"{short(path)}: {name} has {length} lines"
        for path in sources()
        for name, length in functions(without_tests(path))
        if length > LONGEST_FUNCTION
    ]
    assert not long


def test_files_are_one_sitting() -> None:
    long = [short(path) for path in sources() if len(without_tests(path)) > LONGEST_FILE]
    long += [
        short(path)
        for path in ROOT.glob("python/**/*.py")
        if len(path.read_text().split("\n")) > LONGEST_FILE
    ]
    assert not long


def test_every_file_says_first_what_it_is() -> None:
    silent = [short(path) for path in sources() if not path.read_text().startswith("//! ")]
    silent += [
        short(path)
        for path in (ROOT / "python/loadstone").glob("**/*.py")
        if not path.read_text().startswith('"""')
    ]
    assert not silent


def test_names_say_what_is_inside() -> None:
    modules = [
        *sources(),
        *ROOT.glob("python/**/*.py"),
        *(path for path in CRATES.iterdir() if path.is_dir()),
    ]
    assert not [short(path) for path in modules if path.stem in BANNED_NAMES]
    assert not list(CRATES.glob("**/mod.rs"))


def test_system_calls_alone_are_unsafe_and_nothing_iterates_at_random() -> None:
    code = {path: re.sub(r"//.*", "", "\n".join(without_tests(path))) for path in sources()}
    assert {short(path) for path, text in code.items() if re.search(r"\bunsafe\b", text)} == UNSAFE
    assert not [short(path) for path, text in code.items() if re.search(r"\bHash(Map|Set)\b", text)]


@pytest.mark.parametrize("crate", sorted(PURE))
def test_pure_crates_touch_no_world(crate: str) -> None:
    world = re.compile(
        r"std::(fs|net|env|thread|process|io::std)|\bInstant\b|\bSystemTime\b|\bprintln!|\bdbg!"
    )
    for path in sources():
        if path.is_relative_to(CRATES / crate):
            text = re.sub(r"//.*", "", "\n".join(without_tests(path)))
            assert not world.search(text), f"{short(path)}: {world.search(text)}"


def made(path: Path) -> bool:
    """Whether a program made it and git ignores it: what builds and fuzzing leave behind."""
    return not {"target", "found", "artifacts", "__pycache__"}.isdisjoint(path.relative_to(ROOT).parts)


def test_the_repository_is_at_home_anywhere() -> None:
    assert not (ROOT / ".github").exists()
    # Written apart, so that this file does not name them.
    machine = re.compile("|".join(["/" + name + "/" for name in ("work", "farm", "root", "home")]))
    # Where git keeps the history of a worktree is no part of it.
    texts = [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]
    for folder in ("crates", "python", "docs", "examples", "scripts", "fuzz", ".ci"):
        texts += [path for path in (ROOT / folder).rglob("*") if path.is_file() and not made(path)]
    endings = {".rs", ".py", ".pyi", ".md", ".toml", ".json", ".har", "", ".sh"}
    named = [
        short(path)
        for path in texts
        if path.suffix in endings and machine.search(path.read_text(errors="ignore"))
    ]
    assert not named
