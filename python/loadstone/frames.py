"""Data frames for those who use pandas, Polars or Arrow: whichever is installed."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal

from loadstone.files import InputError

Backend = Literal["polars", "pandas", "pyarrow"]
_BACKENDS: tuple[Backend, ...] = ("polars", "pandas", "pyarrow")


def frame(rows: Sequence[Mapping[str, Any]], backend: Backend | None = None) -> Any:
    """Make a data frame of rows: of `backend`, or of the first that is installed."""
    columns: dict[str, list[Any]] = {name: [] for row in rows for name in row}
    for row in rows:
        for name, values in columns.items():
            values.append(row.get(name))
    return of_columns(columns, backend)


def of_columns(columns: Mapping[str, Any], backend: Backend | None = None) -> Any:
    """Make a data frame of columns."""
    narwhals, chosen = _made_by(backend)
    return narwhals.from_dict(dict(columns), backend=chosen).to_native()


def converted(given: Any, backend: Backend | None = None) -> Any:
    """Give a data frame as one of another kind."""
    if backend is None:
        return given
    narwhals, chosen = _made_by(backend)
    read = narwhals.from_native(given, eager_only=True)
    return {"polars": read.to_polars, "pandas": read.to_pandas, "pyarrow": read.to_arrow}[chosen]()


def _made_by(backend: Backend | None) -> tuple[Any, Backend]:
    if backend is not None and backend not in _BACKENDS:
        raise InputError(f"frame: '{backend}' is unknown: give {', '.join(_BACKENDS)}")
    wanted = _BACKENDS if backend is None else (backend,)
    chosen = next((each for each in wanted if find_spec(each)), None)
    if chosen is None or not find_spec("narwhals"):
        raise InputError(
            "frame: a data frame needs narwhals and polars, pandas or pyarrow: install loadstone[sweep]"
        )
    import narwhals

    return narwhals, chosen
