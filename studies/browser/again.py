"""How well recorded pages load again without their network: `python studies/browser/again.py RECORDING...`.

Each is recorded anew, two loads until nothing comes any more, on a bed whose servers have nothing but the
recording: how many requests it answers, and whether both loads, whose time and randomness are those of the
recording, asked for the same. Needs what a bed needs, and Chromium.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from loadstone.recording import Archive
from loadstone.recording.archive import HAR

LOADSTONE = [sys.executable, "-m", "loadstone"]
LOADS = 2


def again(recording: Path) -> tuple[int, int, list[str], set[str]]:
    """Load it twice: requests, those answered, the others, and what only one of the loads asked for."""
    url = Archive.read(str(recording)).loads[0].url
    bed = [*LOADSTONE, "bed", str(recording), "--network", "50/10mbit,20ms", "--protocol", "h2", "--json"]
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "again.wacz")
        record = [*LOADSTONE, "record", url, "-o", path, "--runs", str(LOADS)]
        done = subprocess.run([*bed, "--", *record], capture_output=True, text=True, timeout=1200)
        if done.returncode:
            raise SystemExit(f"{recording}: {done.stderr.strip()[-400:]}")
        first, second = requested(path)
    # What the command prints comes before the bed's own line.
    said = json.loads(done.stdout.splitlines()[-1])["recording"]
    had = sum(said[how] for how in ("exact", "by_query", "by_shape"))
    return had + said["unmatched"], had, [*said["not_recorded"]], first ^ second


def requested(path: str) -> list[set[str]]:
    """Give the URLs for which each load asked; for moments, that there was one."""
    urls: list[set[str]] = [set() for _ in range(LOADS)]
    for one in json.loads(Archive.read(path).extra(HAR))["log"]["entries"]:
        load = int(one["pageref"].removeprefix("page_"))
        urls[load - 1].add(re.sub(r"\b\d{13}\b", "MOMENT", one["request"]["url"]))
    return urls


def main() -> None:
    """Print a row of each, and the sum."""
    total = answered = same = 0
    for name in sys.argv[1:]:
        asked, had, missing, differing = again(Path(name))
        total, answered, same = total + asked, answered + had, same + (not differing)
        how = "differs" if differing else "the same twice"
        sys.stdout.write(f"{Path(name).stem:16}{had:6} of {asked:4}  {how}\n")
        sys.stdout.writelines(f"    not recorded: {one}\n" for one in missing)
        sys.stdout.writelines(f"    in one load only: {one}\n" for one in sorted(differing))
        sys.stdout.flush()
    sys.stdout.write(
        f"{answered} of {total} ({answered / total:.1%}); the same twice: {same} of {len(sys.argv) - 1}\n"
    )


if __name__ == "__main__":
    main()
