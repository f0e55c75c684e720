"""Packages that only some verbs need, and the extras that bring them."""

from collections.abc import Iterator
from contextlib import contextmanager

from loadstone.files import InputError

EXTRAS = {
    "numpy": "sweep",
    "polars": "sweep",
    "pyarrow": "sweep",
    "matplotlib": "analysis",
    "narwhals": "sweep",
    "scipy": "analysis",
    "sklearn": "analysis",
    "dask": "dask",
    "distributed": "dask",
    "pandas": "pandas",
    "warcio": "record",
    "zstandard": "record",
}
"""The smallest extra that has a package, by the name under which it is imported."""

_OF_VERBS = {"sweep": "sweep", "analyze": "analysis", "validate": "analysis", "reproduce": "studies"}


@contextmanager
def explained(verb: str) -> Iterator[None]:
    """Say what to install where a verb lacks a package."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        # A verb names its own extra, unless the package is of one that is asked for besides.
        extra = (
            EXTRAS[package] if EXTRAS[package] in ("dask", "pandas") else _OF_VERBS.get(verb, EXTRAS[package])
        )
        raise InputError(f"{verb}: {package} is not installed: pip install 'loadstone[{extra}]'") from None
