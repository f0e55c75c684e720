"""Recorded pages: all HARs of a folder, beside the two hundred that are made."""

import json
from pathlib import Path

from loadstone import pages
from loadstone.files import InputError
from loadstone.reproduce.nsdi.corpus import Page


def read(folder: Path) -> dict[str, Page]:
    """Read all HARs below a folder, by names that a file may have; those that hold no page are left out."""
    found: dict[str, Page] = {}
    for at, path in enumerate(sorted(folder.rglob("*.har*"))):
        try:
            found[f"r{at:03}"] = json.loads(pages.read(str(path)).json)
        except InputError:
            continue
    if not found:
        raise InputError(
            f"--pages {folder}: there is no HAR that can be read: give a folder with *.har, *.har.gz"
        )
    return found
