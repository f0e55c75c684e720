"""Build the ten sites: `python sites/build.py [NAME...] -o DIR`.

A site is a folder here: its sources by host, and `site.toml` with what is made and what the servers answer.
`DIR/NAME/HOST/...` gets all files, `DIR/NAME/site.json` the responses. The same sources give the same bytes.
"""

import argparse
import json
import shutil
import sys
import tomllib
from pathlib import Path
from random import Random
from typing import Any

from making import fonts, pictures, responses, templates

HERE = Path(__file__).parent
NAMES = sorted(path.parent.name for path in HERE.glob("*/site.toml"))


def build(name: str, out: Path) -> list[responses.Response]:
    """Build one site into a folder, anew."""
    source, tree = HERE / name, out / name
    description = tomllib.loads((source / "site.toml").read_text())
    shutil.rmtree(tree, ignore_errors=True)
    for path in sorted(source.glob("*.test/**/*")):
        if path.is_file():
            copy(name, source, path, tree)
    for entry in description.get("made", []):
        for number in range(entry.get("count", 1)):
            make(name, entry, number, tree)
    answers = responses.of_site(tree, description)
    site = {"start": description["start"], "responses": [answer.document() for answer in answers]}
    (tree / "site.json").write_text(json.dumps(site, indent=1) + "\n")
    return answers


def copy(name: str, source: Path, path: Path, tree: Path) -> None:
    """Copy a source, with what it asks for filled in."""
    place = path.relative_to(source)
    target = tree / place
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        filled = templates.fill(path.read_text(), Random(f"{name}/{place.as_posix()}"))
    except ValueError as error:
        raise SystemExit(f"{path}: {error}") from error
    target.write_text(filled)


def make(name: str, entry: dict[str, Any], number: int, tree: Path) -> None:
    """Make one file: of text by a template, or a picture or font, whose sizes vary by a third."""
    place = entry["path"].format(n=number)
    random = Random(f"{name}/{place}")
    target = tree / place
    target.parent.mkdir(parents=True, exist_ok=True)
    if "template" in entry:
        target.write_text(templates.fill(entry["template"], random, {"n": number}))
        return
    size = int(entry["bytes"] * random.uniform(0.7, 1.3)) if entry.get("count") else entry["bytes"]
    match target.suffix:
        case ".jpg":
            target.write_bytes(pictures.jpeg(random, *entry["size"], size))
        case ".png":
            target.write_bytes(pictures.png(random, *entry["size"], size))
        case ".woff2":
            target.write_bytes(fonts.woff2(random, entry.get("family", "Trial Sans"), size))
        case ending:
            raise SystemExit(f"{entry['path']}: no {ending} can be made")


def main() -> None:
    """Read the command line, build, and say what was built."""
    parser = argparse.ArgumentParser(prog="sites/build.py", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"sites to build; all if none: {', '.join(NAMES)}"
    )
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(NAMES)):
        parser.error(f"no site is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    for name in options.names or NAMES:
        answers = build(name, options.out)
        bodies = [options.out / name / answer.file for answer in answers if answer.file]
        total = sum(path.stat().st_size for path in bodies)
        hosts = {answer.url.split("/")[2] for answer in answers}
        sys.stdout.write(
            f"{name}: {len(answers)} responses, {len(hosts)} hosts, {total / 1e6:.2f} MB as sent\n"
        )


if __name__ == "__main__":
    main()
