"""Paths on the command line: what a verb reads and what it writes, and that none is both.

An option or argument says by its type what its path is for. Before a verb does anything, no file that it will
write may be one that it reads, or another one that it writes, however the path is spelled.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from loadstone._native import traces_of
from loadstone.files import STANDARD, InputError
from loadstone.pages import files_of


class PathType(click.types.StringParamType):
    """What a path on the command line is for; the value stays as it was given."""

    def __init__(self, *, written: bool = False, is_folder: bool = False) -> None:
        self.is_written = written
        self.is_folder = is_folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Take what names something."""
        return (
            super().convert(value, param, ctx) if value else self.fail("it is empty: give a name", param, ctx)
        )

    def of(self, value: str) -> list[str]:
        """Give the files that a value names."""
        return [value]


class _PageType(PathType):
    def of(self, value: str) -> list[str]:
        return files_of(value)


class _NetworkType(PathType):
    def of(self, value: str) -> list[str]:
        # Also a file of users.
        return [value] if value.lower().endswith(".csv") else traces_of(value)


class _StudyType(PathType):
    def of(self, value: str) -> list[str]:
        # Any other is the name of a study that came with Loadstone.
        return [value] if Path(value, "study.toml").is_file() else []


READ, WRITTEN = PathType(), PathType(written=True)
READ_FOLDER, WRITTEN_FOLDER = PathType(is_folder=True), PathType(written=True, is_folder=True)
PAGE, NETWORK, STUDY = _PageType(), _NetworkType(), _StudyType(is_folder=True)


def refuse_overwriting(context: click.Context) -> None:
    """Refuse paths of which one is written and is another of them as well."""
    named = list(_named(context))
    for at, (option, path, is_written) in enumerate(named):
        for other, known, is_other_written in named[:at]:
            if (is_written or is_other_written) and _are_one(path, known):
                first, second = (option, other) if is_written else (other, option)
                raise InputError(f"{first}: {path} is the file of {second} as well: give each its own")


def _named(context: click.Context) -> Iterator[tuple[str, str, bool]]:
    """Give every path of a command line, with what it is called and whether it is written."""
    for parameter in context.command.params:
        kind, value = parameter.type, context.params.get(parameter.name or "")
        if isinstance(kind, PathType) and value is not None:
            is_option = isinstance(parameter, click.Option)
            called = parameter.opts[-1] if is_option else parameter.human_readable_name
            for one in value if isinstance(value, tuple) else [value]:
                yield from ((called, path, kind.is_written) for path in kind.of(one) if path != STANDARD)


def _are_one(one: str, other: str) -> bool:
    """Say whether two paths are one file, by symbolic and hard links too."""
    try:
        return os.path.realpath(one) == os.path.realpath(other) or Path(one).samefile(other)
    except (OSError, ValueError):
        # One is not there, or no name of a file at all, which is said when it is opened.
        return False
