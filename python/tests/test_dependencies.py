"""What is built and tested is locked to the byte, and wheels say whose code they contain."""

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from conftest import ROOT
from loadstone import __version__
from loadstone.cli import extras
from loadstone.files import InputError

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCKED = {extra: ROOT / f"requirements/{extra}.txt" for extra in ("dev", "browser", "wheels")}
ENTRY = re.compile(
    r"^(\S+==\S+(?: ; [^\\]+?)?) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


def asked(extra: str) -> list[str]:
    """Give what an extra asks for, other extras by what they ask for."""
    found = []
    for wanted in EXTRAS[extra]:
        requirement = Requirement(wanted)
        if requirement.name == PROJECT["name"]:
            found += [each for inner in sorted(requirement.extras) for each in asked(inner)]
        else:
            found.append(wanted)
    return found


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
    for wanted in map(Requirement, [*PROJECT["dependencies"], *asked(extra)]):
        assert wanted.specifier.contains(chosen[wanted.name]), f"{wanted}: run 'make lock'"


def test_all_locks_have_the_same_versions() -> None:
    dev = {f"{entry}" for entry in entries("dev")}
    names = {Requirement(entry).name for entry in dev}
    others = {f"{entry}" for extra in ("browser", "wheels") for entry in entries(extra)}
    assert {entry for entry in others - dev if Requirement(entry).name in names} == set()


def test_what_users_may_have_is_what_is_tested() -> None:
    assert {each for extra in EXTRAS if extra not in ("browser", "wheels") for each in asked(extra)} == {
        *asked("dev")
    }


def test_each_package_of_an_extra_is_known_by_the_extra_that_brings_it() -> None:
    names = {"scikit-learn": "sklearn"}
    for package, extra in extras.EXTRAS.items():
        brought = {names.get(name := Requirement(each).name, name) for each in asked(extra)}
        assert package in brought or package == "dask"
    brought = {Requirement(each).name for extra in ("studies", "dask", "pandas") for each in asked(extra)}
    assert {names.get(name, name) for name in brought} <= {*extras.EXTRAS}


@pytest.mark.parametrize(
    ("verb", "package", "extra"),
    [
        ("sweep", "polars", "sweep"),
        ("analyze", "polars", "analysis"),
        ("sweep", "distributed", "dask"),
        ("reproduce", "numpy", "studies"),
    ],
)
def test_who_lacks_a_package_hears_how_to_get_it(verb: str, package: str, extra: str) -> None:
    with pytest.raises(InputError) as failed, extras.explained(verb):
        raise ModuleNotFoundError(f"No module named '{package}.x'", name=f"{package}.x")
    assert str(failed.value) == f"{verb}: {package} is not installed: pip install 'loadstone[{extra}]'"


def test_a_module_of_our_own_that_is_missing_is_no_matter_of_extras() -> None:
    with pytest.raises(ModuleNotFoundError), extras.explained("sweep"):
        raise ModuleNotFoundError(name="loadstone.nothing")


def test_verbs_about_one_page_need_the_base_alone(tmp_path: Path) -> None:
    """What the base does not bring cannot be imported; the extension is the one that is tested."""
    code = """
import importlib.abc, sys
from loadstone.cli.extras import EXTRAS
from loadstone import cli

class Lacking(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {*EXTRAS, "zstandard"}:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, Lacking())
sys.exit(cli._run(sys.argv[1:]))
"""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
        )

    report = str(tmp_path / "report.html")
    shop = str(ROOT / "examples" / "shop.har")
    for arguments in (
        ["compare", shop, "--html", report],
        ["compare", shop, "--network", "dsl-lossy", "--until", "20%", "--json"],
        ["load", shop, "--waterfall"],
        ["page", shop],
        ["--version"],
    ):
        done = run(*arguments)
        assert (done.returncode, done.stderr) == (0, ""), arguments
    matrix = str(ROOT / "studies" / "cablelabs" / "matrix.toml")
    done = run("sweep", matrix, "--plan")
    assert done.returncode == 2 and "is not installed: pip install 'loadstone[sweep]'" in done.stderr


def test_it_is_cited_by_its_version() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_licences_of_linked_packages_are_those_of_the_lock() -> None:
    licenses = runpy.run_path(str(ROOT / "scripts/licenses"))
    written = licenses["document"](licenses["linked"]())
    assert (ROOT / "THIRD-PARTY-LICENSES").read_text() == written, "run 'make licenses'"
    assert "THIRD-PARTY-LICENSES" in PROJECT["license-files"]
