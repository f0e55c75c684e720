"""h2spec: HTTP/2 (RFC 9113) and HPACK (RFC 7541) as an edge speaks them to its clients."""

import re
import subprocess
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from conformance.programs import INTEROP, LOADSTONE, PATIENCE, address, edge, made, running
from conformance.tally import Tally

TIMEOUT = 20
"""Seconds that a case waits for the edge: h2spec's 2 are too few on a machine that is busy."""
WAYS: dict[str, tuple[list[str], list[str]]] = {
    "plaintext": (["--plaintext", "--protocol", "h2"], []),
    "TLS": ([], ["--tls", "--insecure"]),
}
"""How the edge is started, and how h2spec."""


def run() -> list[Tally]:
    """Run all cases, over plaintext and over TLS."""
    program = made("go") / "h2spec"
    # Built from its module it calls itself 2.0.0, whatever it is.
    version = re.search(r"/h2spec v([\d.]+)", (INTEROP / "go/go.mod").read_text())
    with running([*LOADSTONE, "serve", "--patterns", "--plaintext", "--listen", "127.0.0.1:0"]) as origin:
        served = address(origin)
        name = f"h2spec {version[1] if version else '?'} --strict"
        return [_through_an_edge(f"{name}, {way}", program, served, way) for way in WAYS]


def _through_an_edge(name: str, program: Path, origin: str, way: str) -> Tally:
    front, asked = WAYS[way]
    with edge(origin, *front) as served, tempfile.TemporaryDirectory() as folder:
        host, port = served.split(":")
        report = Path(folder) / "report.xml"
        command = [str(program), "--strict", "--timeout", str(TIMEOUT), *asked, "-h", host, "-p", port]
        command += ["--path", "/bytes/1000", "--junit-report", str(report)]
        # Its exit code says that a case has failed, as does the report.
        subprocess.run(command, stdout=subprocess.DEVNULL, timeout=PATIENCE, check=False)
        if not report.exists():
            raise SystemExit(f"conformance: h2spec has left no report: {command!r}")
        return tally(name, report.read_text())


def tally(name: str, report: str) -> Tally:
    """Count the cases of a report in JUnit's format."""
    passed, failed, skipped = 0, [], []
    for suite in ElementTree.fromstring(report).iter("testsuite"):
        for case in suite.iter("testcase"):
            line = f"{suite.get('name')}: {case.get('classname')}"
            faults = [fault for kind in ("failure", "error") if (fault := case.find(kind)) is not None]
            if faults:
                failed.append(f"{line}: {' '.join((faults[0].text or '').split())}")
            elif case.find("skipped") is not None:
                skipped.append(line)
            else:
                passed += 1
    return Tally(name, passed, failed, unjudged=skipped)
