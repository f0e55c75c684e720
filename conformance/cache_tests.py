"""Mark Nottingham's http-cache-tests: what a shared cache stores, answers and asks again (RFC 9111)."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypedDict

from conformance.programs import address, edge, made, running, told
from conformance.tally import Tally

NO_NUMBER = "RFC 9111, section 5.1: an Age that is no number is ignored"
FIRST_COUNTS = "RFC 9111, section 5.1: of several Ages the first counts"
SUPERSEDED = {
    "age-parse-nonnumeric": NO_NUMBER,
    "age-parse-negative": NO_NUMBER,
    "age-parse-float": NO_NUMBER,
    "age-parse-parameter": NO_NUMBER,
    "age-parse-numeric-parameter": NO_NUMBER,
    "age-parse-prefix-twoline": FIRST_COUNTS,
    "age-parse-dup-0": FIRST_COUNTS,
    "age-parse-dup-0-twoline": FIRST_COUNTS,
    "age-parse-dup-old": FIRST_COUNTS,
}
"""Of the package, which is older than RFC 9111. Today's repository asks for the opposite, or asks nothing."""
KINDS = {"required": "required", "optimal": "optional", "check": "behaviours"}


class Judged(TypedDict):
    """A test, as interop/cache-tests/run.mjs says it."""

    id: str
    kind: str
    verdict: str
    why: str


def run(checkout: Path | None) -> list[Tally]:
    """Run the tests of the package, or of a checkout of their repository."""
    folder = made("cache-tests")
    suite = folder / "node_modules/http-cache-tests" if checkout is None else checkout.resolve()
    with (
        running(["node", "--no-deprecation", folder / "run.mjs", suite]) as tests,
        edge(address(tests), "--plaintext", "--protocol", "http/1.1") as cache,
    ):
        said = told(tests, f"http://{cache}")
    version = json.loads((suite / "package.json").read_text())["version"]
    name = f"http-cache-tests {version}" if checkout is None else f"http-cache-tests in {checkout}"
    return tallies(name, json.loads(said), SUPERSEDED if checkout is None else {})


def tallies(name: str, judged: Iterable[Judged], superseded: Mapping[str, str]) -> list[Tally]:
    """Count tests by what they are: required, optional, or only to see how caches behave."""
    tests = list(judged)
    return [
        _tally(f"{name}, {shown}", kind, [one for one in tests if one["kind"] == kind], superseded)
        for kind, shown in KINDS.items()
    ]


def _tally(name: str, kind: str, tests: Iterable[Judged], superseded: Mapping[str, str]) -> Tally:
    passed, failed, excused, unjudged = 0, [], [], []
    for test in tests:
        identity, verdict = test["id"], test["verdict"]
        if verdict in ("passed", "yes"):
            passed += 1
        elif verdict in ("failed", "no", "not answered"):
            if identity in superseded and verdict == "failed":
                excused.append(f"{identity}: {superseded[identity]}")
            else:
                failed.append(f"{identity}: {test['why']}")
        else:
            unjudged.append(f"{identity}: {verdict}")
    return Tally(name, passed, failed, excused, unjudged, binding=kind == "required", named=kind != "check")
