"""The command: all suites, as one table."""

import argparse
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from conformance import cache_tests, h2spec
from conformance.programs import MissingError
from conformance.tally import Tally, shown


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/conformance", description=__doc__)
    parser.add_argument(
        "--cache-tests",
        metavar="DIR",
        type=Path,
        help="a checkout of http-tests/cache-tests, with its packages (npm install), in place of the package",
    )
    return parser.parse_args()


def main() -> int:
    """Run what is here; what is not is said, and fails where nothing may be left out."""
    # Who is told to end ends its programs first, as with Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = arguments()
    suites: list[Callable[[], list[Tally]]] = [lambda: cache_tests.run(given.cache_tests), h2spec.run]
    tallies: list[Tally] = []
    complete = True
    for suite in suites:
        try:
            tallies += suite()
        except MissingError as why:
            sys.stderr.write(f"conformance: left out: {why}\n")
            complete = False
    if tallies:
        sys.stdout.write(shown(tallies))
    holds = all(tally.holds for tally in tallies)
    return int(not holds or (not complete and bool(os.environ.get("LOADSTONE_NO_SKIP"))))


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:
        # What was started has been ended on the way here.
        raise SystemExit(130) from None
