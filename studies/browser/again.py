"""How well recorded pages load again without their network: `python studies/browser/again.py RECORDING...`.

Each is loaded twice in Chromium, on a bed whose servers have nothing but the recording: how many requests it
answers, and whether both loads, whose time and randomness are the recording's, asked for the same. Needs what
a bed needs, and Chromium.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from loadstone.recording import Archive

LOADSTONE = [sys.executable, "-m", "loadstone"]


def again(recording: Path) -> tuple[int, int, list[str], bool]:
    """Load it twice: requests, those that were answered, the others, and whether both loads had the same."""
    url = Archive.read(str(recording)).loads[0].url
    bed = [*LOADSTONE, "bed", str(recording), "--network", "50/10mbit,20ms", "--json", "--loads", "2"]
    done = subprocess.run([*bed, "--", "chromium", url], capture_output=True, text=True, timeout=1200)
    if done.returncode:
        raise SystemExit(f"{recording}: {done.stderr.strip()[-400:]}")
    document = json.loads(done.stdout)
    said, (first, second) = document["recording"], document["variants"][0]["loads"]
    had = sum(said[how] for how in ("exact", "by_query", "by_shape"))
    return had + said["unmatched"], had, [*said["not_recorded"]], requested(first) == requested(second)


def requested(load: dict[str, Any]) -> set[str]:
    """Give the URLs for which a load asked; for moments, that there was one."""
    return {re.sub(r"\b\d{13}\b", "MOMENT", one["url"]) for one in load["resources"]}


def main() -> None:
    """Print a row of each, and the sum."""
    total = answered = same = 0
    for name in sys.argv[1:]:
        asked, had, missing, is_same = again(Path(name))
        total, answered, same = total + asked, answered + had, same + is_same
        sys.stdout.write(
            f"{Path(name).stem:16}{had:6} of {asked:4}  {'the same twice' if is_same else 'differs'}\n"
        )
        sys.stdout.writelines(f"    not recorded: {one}\n" for one in missing)
    sys.stdout.write(
        f"{answered} of {total} ({answered / total:.1%}); the same twice: {same} of {len(sys.argv) - 1}\n"
    )


if __name__ == "__main__":
    main()
