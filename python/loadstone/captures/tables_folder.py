"""A folder of tables of captures: how it is known, without the packages that read the tables."""

from pathlib import Path

CAPTURE = "capture.json"
"""By this file a folder is known as one of captures."""


def is_of_captures(folder: str) -> bool:
    """Say whether a folder has the tables of captures."""
    return Path(folder, CAPTURE).is_file()
