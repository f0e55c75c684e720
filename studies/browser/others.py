"""Pages by others, built as our own are: `python studies/browser/others.py [NAME...] -o DIR`.

They come from packages of npm that `others.toml` names (`npm pack` fetches them). `DIR/NAME/HOST/...` gets
the files, `DIR/NAME/site.json` the responses. Needs npm, and a network the first time.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "sites"))

from making import responses  # noqa: E402 - the sites' own programs are no package

PAGES: dict[str, dict[str, Any]] = tomllib.loads((HERE / "others.toml").read_text())
SHEETS, FONTS = "https://fonts.googleapis.com/", "fonts.gstatic.com/s"
FONTSOURCE = "5.3.0"
"""The version of the packages with the fonts."""
OPEN = {"match": "*", "fields": {"access-control-allow-origin": "*"}}
"""Fonts of another host need it."""


def package(named: str, folder: Path) -> Path:
    """Fetch a package, if it is not there; the folder with its files."""
    into = folder / named.replace("/", "-")
    if not into.exists():
        folder.mkdir(parents=True, exist_ok=True)
        words = ["npm", "pack", "--silent", "--pack-destination", str(folder), named]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise SystemExit(f"npm cannot fetch {named}: {done.stderr.strip()[-200:]}")
        with tarfile.open(folder / done.stdout.split()[-1]) as archive:
            archive.extractall(into, filter="data")
    return next(path for path in into.iterdir() if path.is_dir())


def build(name: str, out: Path) -> str:
    """Build one page into a folder, anew; its address."""
    page, tree = PAGES[name], out / name
    shutil.rmtree(tree, ignore_errors=True)
    host, packages = f"www.{name}.test", out.parent / "packages"
    copy(package(page["package"], packages) / page.get("root", ""), tree / host)
    for place, named in page.get("served", {}).items():
        whole, _, part = named.partition("/dist")
        copy(package(whole, packages) / (f"dist{part}" if "/dist" in named else ""), tree / place)
    named = [{"url": SHEETS + sheet, "file": fonts(sheet, tree, packages)} for sheet in page.get("fonts", ())]
    answers = responses.of_site(tree, {"response": named, "rule": [OPEN]})
    start = f"https://{host}/{page.get('page', '').removesuffix('index.html')}"
    site = {"start": start, "responses": [answer.document() for answer in answers]}
    (tree / "site.json").write_text(json.dumps(site, indent=1) + "\n")
    return start


def copy(source: Path, target: Path) -> None:
    """Copy the files of which a browser knows the type."""
    for path in sorted(source.rglob("*")):
        place = path.relative_to(source)
        if path.is_file() and path.suffix in responses.TYPES and "node_modules" not in place.parts:
            (target / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / place)


def fonts(sheet: str, tree: Path, packages: Path) -> str:
    """Make a style sheet as Google Fonts answers it, and copy its fonts; its place in the tree."""
    text = ""
    for family in parse_qs(urlsplit(sheet).query)["family"][0].split("|"):
        title, _, styles = family.partition(":")
        font = "-".join(title.lower().split())
        folder = package(f"@fontsource/{font}@{FONTSOURCE}", packages)
        for style in re.split("[,;]", styles.removeprefix("wght@") or "400"):
            weight, slant = re.fullmatch(r"(\d+)(i?)(?:talic)?", style).groups()
            file = folder / f"{weight}{'-italic' if slant else ''}.css"
            text += file.read_text() if file.exists() else ""
        copy(folder / "files", tree / FONTS / font)
        text = text.replace("url(./files/", f"url(https://{FONTS}/{font}/")
    place = Path("fonts.googleapis.com") / f"{zlib.crc32(sheet.encode()):08x}.css"
    (tree / place).parent.mkdir(parents=True, exist_ok=True)
    (tree / place).write_text(text)
    return place.as_posix()


def main() -> None:
    """Build the pages that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*PAGES, []], help=", ".join(PAGES))
    parser.add_argument("-o", dest="out", type=Path, required=True, metavar="DIR")
    given = parser.parse_args()
    for name in given.names or PAGES:
        sys.stdout.write(f"{name}: {build(name, given.out)}\n")


if __name__ == "__main__":
    main()
