"""TOML files as a user wrote them; what nobody writes by hand is refused before it costs anything."""

import re
import tomllib
from typing import Any

from loadstone import files
from loadstone.files import InputError

LIMIT = 2 * 1024 * 1024
"""The most bytes of a file."""
MOST_PARTS = 32
"""The most parts of a dotted key: the time and memory that the library takes grow with their square."""

_TEXT = re.compile(r""" "(?:[^"\\\n]|\\.)*+" | '[^'\n]*+' """, re.VERBOSE)
_BETWEEN_KEYS = re.compile(r"[=,\[\]{}\n]")


def read(path: str, what: str) -> dict[str, Any]:
    """Read the file, which should be `what`.

    Raises `InputError` if it is no TOML, or larger or nested more deeply than a person writes it.
    """
    try:
        text = files.read(path, LIMIT).decode()
        if any(part.count(".") >= MOST_PARTS for part in _BETWEEN_KEYS.split(_TEXT.sub("_", text))):
            raise InputError(f"{path}: a key has more than {MOST_PARTS} parts: write fewer dots")
        return tomllib.loads(text)
    except files.TooLargeError as error:
        raise InputError(f"{error}, which is much for {what}: take out what is not needed") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: not {what}: {error}") from None
    except RecursionError:
        raise InputError(
            f"{path}: lists or tables lie too deeply in one another: write fewer brackets"
        ) from None
