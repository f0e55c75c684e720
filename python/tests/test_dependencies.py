"""What is built and tested is locked to the byte, and wheels say whose code they contain."""

import re
import runpy
import tomllib

import pytest
from packaging.requirements import Requirement

from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCKED = {"dev": ROOT / "requirements/dev.txt", "browser": ROOT / "requirements/browser.txt"}
ENTRY = re.compile(
    r"^(\S+==\S+(?: ; [^\\]+?)?) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


def entries(extra: str) -> list[Requirement]:
    return [Requirement(match[1]) for match in ENTRY.finditer(LOCKED[extra].read_text())]


@pytest.mark.parametrize("extra", LOCKED)
def test_every_line_of_a_lock_is_a_version_with_its_hashes(extra: str) -> None:
    rest = ENTRY.sub("", LOCKED[extra].read_text())
    # Not where to get it: that is a matter of the machine.
    assert [line for line in rest.splitlines() if not line.lstrip().startswith("#")] == []
    assert "://" not in rest and "index" not in rest


@pytest.mark.parametrize("extra", LOCKED)
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_lock_has_what_the_project_asks_for(extra: str, python: str, machine: str) -> None:
    here = {"python_version": python, "python_full_version": f"{python}.0", "platform_machine": machine}
    here |= {"sys_platform": "linux", "implementation_name": "cpython", "extra": ""}
    chosen: dict[str, str] = {}
    for entry in entries(extra):
        if entry.marker is None or entry.marker.evaluate(here):
            [version] = entry.specifier
            assert chosen.setdefault(entry.name, version.version) == version.version
    for wanted in map(Requirement, [*PROJECT["dependencies"], *EXTRAS[extra]]):
        assert wanted.specifier.contains(chosen[wanted.name]), f"{wanted}: run 'make lock'"


def test_both_locks_have_the_same_versions() -> None:
    dev, browser = ({f"{entry}" for entry in entries(extra)} for extra in LOCKED)
    names = {Requirement(entry).name for entry in dev}
    assert {entry for entry in browser - dev if Requirement(entry).name in names} == set()


def test_what_users_may_have_is_what_is_tested() -> None:
    """An extra for users has no bound of its own."""
    assert {*EXTRAS["cluster"], *EXTRAS["pandas"]} <= {*EXTRAS["dev"]}


def test_licences_of_linked_packages_are_those_of_the_lock() -> None:
    licenses = runpy.run_path(str(ROOT / "scripts/licenses"))
    written = licenses["document"](licenses["linked"]())
    assert (ROOT / "THIRD-PARTY-LICENSES").read_text() == written, "run 'make licenses'"
    assert "THIRD-PARTY-LICENSES" in PROJECT["license-files"]
