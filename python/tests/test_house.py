"""The rules of the house, which no one has to remember. CONTRIBUTING.md says why."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import imports
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
    "answer": {"load"},
    "capture": {"http"},
    "live": {"load", "net"},
    "bed": {"scenario", "live"},
    "edge": {"live"},
    "py": {"sim", "bed", "answer", "capture"},
}
# What touches the world: threads, sockets, the clock.
DRIVERS = {"bed", "edge", "live", "py"}
PURE = set(ARROWS) - DRIVERS
ALLOWED_IN_PURE = {
    *("bytes", "flate2", "httparse", "serde", "serde_json", "serde_path_to_error", "thiserror"),
    # The same figures on every machine, where a platform's own functions differ in the last bit.
    "libm",
    # Captures are tables, and files of packets.
    "csv",
    # Records of TLS in captures: the library that rustls uses.
    "ring",
    # Capture files read and written, and the connections in them by their ends: looked up, never listed.
    *("foldhash", "hashbrown", "pcap-file", "pcap-parser"),
    # What may be written is said once, by the types that are read.
    "schemars",
    # Queries for names, and their answers.
    "simple-dns",
    # What caches may reuse, the types of the package that says so, and dates.
    "http",
    "http-cache-semantics",
    "httpdate",
    # Files of a cache.
    "postcard",
    # HARs come compressed.
    "psl",
    "ruzstd",
    # An edge's file, which is simulated as well.
    "toml",
    # Secrets are replaced by a hash that nobody can compute backwards.
    "sha2",
}

# Where system calls are made that the standard library does not know.
UNSAFE = {"crates/bed/src/kernel.rs", "crates/bed/src/kernel/contained.rs"}

LONGEST_FUNCTION = 70
LONGEST_FILE = 600
# Types that a crate may call as another does: what each has one of, and is named with its crate or module.
SHARED_TYPE_NAMES = {"Config", "Error", "Server"}
# Modules that only tests have.
TEST_MODULES = {"toy", "overtaking", "bundle", "pair", "holding", "stories"}
LONGEST_SUBJECT = 72
# From where on subjects have been held to it.
FIRST_SHORT_SUBJECTS = "276b17c"
# What a study's folder calls as the others do, since it has the same part in each.
PARTS_OF_STUDIES = {"claims", "explanations", "laboratory", "sensitivity", "slow_start"}
# Packages of Python beside the one that is published.
AROUND = ("attacks", "conformance")
BANNED_NAMES = {"util", "utils", "common", "helper", "helpers", "misc", "core", "manager"}


def manifest(crate: str) -> dict:
    return tomllib.loads((CRATES / crate / "Cargo.toml").read_text())


def reachable(crate: str) -> set[str]:
    return ARROWS[crate].union(*(reachable(target) for target in ARROWS[crate]))


def sources() -> list[Path]:
    """Give the Rust files of all crates, without tests and benches."""
    found = sorted(CRATES.glob("*/src/**/*.rs"))
    return [path for path in found if path.name != "tests.rs" and "tests" not in path.parts]


def around() -> list[Path]:
    """Give the Python files that are not of the published package."""
    return [path for folder in AROUND for path in sorted((ROOT / folder).glob("*.py"))]


def without_tests(path: Path) -> list[str]:
    """Give the lines of a file up to its module of tests."""
    lines = path.read_text().split("\n")
    begins = [
        at
        for at, line in enumerate(lines)
        # What is a file of its own is declared among the others, with code below.
        if line == "#[cfg(test)]" and not lines[at + 1].endswith(";")
    ]
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
    own = manifest(crate)
    tables = [own, *own.get("target", {}).values()]
    names = [name for table in tables for name in table.get("dependencies", {})]
    used = {name.removeprefix("loadstone-") for name in names if "loadstone" in name}
    assert used <= reachable(crate)


@pytest.mark.parametrize("crate", ARROWS)
def test_no_files_of_a_crate_use_one_another_in_a_circle(crate: str) -> None:
    root = CRATES / crate / "src"
    texts = {
        () if path.stem == "lib" else path.relative_to(root).with_suffix("").parts: "\n".join(
            without_tests(path)
        )
        for path in sources()
        if path.is_relative_to(root)
    }
    assert not imports.circles(imports.of_crate(texts))


def test_no_files_of_the_package_use_one_another_in_a_circle() -> None:
    uses = imports.of_package(ROOT / "python/loadstone")
    assert ("loadstone", "stores", "form") in uses["loadstone", "stores", "matrix"]
    # The front of the package names what is inside, for others.
    front = uses.pop(("loadstone",))
    assert front == {("loadstone", "api"), ("loadstone", "stores")}
    assert not imports.circles({module: used & uses.keys() for module, used in uses.items()})


def test_the_reader_of_imports_sees_what_it_should() -> None:
    one = """
use super::b::{C, d::{self, E as F}};
pub(super) use crate::g;
use serde::Deserialize; // use super::h::I;
fn j(k: super::l::M) {}
    use n::O;
"""
    assert [*imports.rust_paths(one)] == [
        *("super::b::C", "super::b::d::self", "super::b::d::E", "crate::g", "serde::Deserialize", "n::O"),
        "super::l::M",
    ]
    texts = {(): "use a::T;", ("a",): one, ("a", "n"): "use super::T;", ("b",): "use crate::a::T;"}
    texts |= {("b", "d"): "", ("g",): "", ("h",): "", ("l",): "use crate::g;"}
    uses = imports.of_crate(texts)
    # What is inside a module, and the crate's root around all, are no others.
    assert uses["a",] == {("b",), ("b", "d"), ("g",), ("l",)}
    assert uses["a", "n"] == set() == uses[()]
    assert imports.circles(uses) == [["a", "b"]]
    assert imports.circles({("a",): {("b",)}, ("b",): {("c",)}, ("c",): {("a",)}}) == [["a", "b", "c"]]


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
        for path in [*ROOT.glob("python/**/*.py"), *around()]
        if len(path.read_text().split("\n")) > LONGEST_FILE
    ]
    assert not long


def test_every_file_says_first_what_it_is() -> None:
    silent = [short(path) for path in sources() if not path.read_text().startswith("//! ")]
    silent += [
        short(path)
        for path in [*(ROOT / "python/loadstone").glob("**/*.py"), *around()]
        if not path.read_text().startswith('"""')
    ]
    assert not silent


def test_names_say_what_is_inside() -> None:
    modules = [
        *sources(),
        *ROOT.glob("python/**/*.py"),
        *around(),
        *(path for path in CRATES.iterdir() if path.is_dir()),
    ]
    assert not [short(path) for path in modules if path.stem in BANNED_NAMES]
    assert not list(CRATES.glob("**/mod.rs"))


def test_a_module_of_the_package_has_a_name_of_its_own() -> None:
    """Two files of one name are the same part of two studies; `claims` is also what all studies share."""
    stems: dict[str, list[str]] = {}
    for path in sorted((ROOT / "python/loadstone").glob("**/*.py")):
        stems.setdefault(path.stem, []).append(short(path))
    doubled = {stem: paths for stem, paths in stems.items() if len(paths) > 1 and stem != "__init__"}
    assert {stem: paths for stem, paths in doubled.items() if stem not in PARTS_OF_STUDIES} == {}
    assert all("/reproduce/" in path for paths in doubled.values() for path in paths)


def test_a_type_has_one_name_and_a_name_one_type() -> None:
    """No crate defines a type that another calls the same; the extension has those that it wraps."""
    crates: dict[str, set[str]] = {}
    definition = re.compile(r"(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type) (\w+)")
    for path in sources():
        crate = path.relative_to(CRATES).parts[0]
        if crate != "py" and path.stem not in TEST_MODULES:
            for name in filter(None, map(definition.match, without_tests(path))):
                crates.setdefault(name[1], set()).add(crate)
    assert len(crates) > 300
    doubled = {name: sorted(users) for name, users in crates.items() if len(users) > 1}
    assert {name: users for name, users in doubled.items() if name not in SHARED_TYPE_NAMES} == {}


def test_subjects_of_commits_are_short() -> None:
    """A subject is read in lists; the reason stands in the body."""
    command = ["git", "log", "--format=%s", f"{FIRST_SHORT_SUBJECTS}..HEAD"]
    log = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if log.returncode:
        pytest.skip(f"git knows no commit {FIRST_SHORT_SUBJECTS} here")
    assert [subject for subject in log.stdout.splitlines() if len(subject) > LONGEST_SUBJECT] == []


def test_system_calls_alone_are_unsafe_and_nothing_iterates_at_random() -> None:
    code = {path: re.sub(r"//.*", "", "\n".join(without_tests(path))) for path in sources()}
    assert {short(path) for path, text in code.items() if re.search(r"\bunsafe\b", text)} == UNSAFE
    assert not [short(path) for path, text in code.items() if re.search(r"\bHash(Map|Set)\b", text)]


@pytest.mark.parametrize("crate", sorted(PURE))
def test_pure_crates_touch_no_world(crate: str) -> None:
    world = re.compile(
        r"std::(fs|net|env|thread|process|io::std)|\bInstant\b|\bSystemTime::now\b|\bprintln!|\bdbg!"
    )
    for path in sources():
        if path.is_relative_to(CRATES / crate):
            text = re.sub(r"//.*", "", "\n".join(without_tests(path)))
            assert not world.search(text), f"{short(path)}: {world.search(text)}"


def made(path: Path) -> bool:
    """Whether a program made it and git ignores it: what builds and fuzzing leave behind."""
    return not {"target", "found", "artifacts", "__pycache__"}.isdisjoint(path.relative_to(ROOT).parts)


def test_the_repository_is_at_home_anywhere() -> None:
    # Tests are `.ci/run`'s; what publishes is the one file that a package registry trusts by its place.
    hosted = [path for path in (ROOT / ".github").rglob("*") if path.is_file()]
    assert [path.relative_to(ROOT).as_posix() for path in hosted] == [".github/workflows/release.yml"]
    # Written apart, so that this file does not name them.
    machine = re.compile("|".join(["/" + name + "/" for name in ("work", "farm", "root", "home")]))
    # Where git keeps the history of a worktree is no part of it.
    texts = [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]
    for folder in (*AROUND, "crates", "python", "docs", "examples", "scripts", "fuzz", ".ci", ".github"):
        texts += [path for path in (ROOT / folder).rglob("*") if path.is_file() and not made(path)]
    endings = {".rs", ".py", ".pyi", ".md", ".toml", ".json", ".har", "", ".sh"}
    named = [
        short(path)
        for path in texts
        if path.suffix in endings and machine.search(path.read_text(errors="ignore"))
    ]
    assert not named
