"""Stores: the runs of a sweep as a folder of Parquet files, each complete or absent.

    matrix-1.json           what is run, and by which engine; matrix-2.json and so on, what it was extended to
    runs/1-00000.parquet    the first chunk of the first matrix, a row for each run

A chunk's name and content follow from the matrix alone, so a sweep that goes on, or two at the same time,
write the same bytes. DuckDB and others read `runs/*.parquet` as they are.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from loadstone.analysis.question import Level, Question
from loadstone.engine import engine
from loadstone.files import InputError
from loadstone.sweep.matrix import Matrix
from loadstone.sweep.plan import Chunk, Plan, Run

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_FORMAT = 1
_SAID = re.compile(r"matrix-([1-9][0-9]*)\.json")
_PART = re.compile(r"\.loadstone-[0-9a-f]{12}\.part")
_OF_THE_QUESTION = ("title", "analysis")
"""What a matrix says of analyses: it may change at any time."""

_MOST_NAMED = 4
"""Differences that a refusal names."""

_CHUNK, _ROWS = b"loadstone.chunk", b"loadstone.rows"
"""What a file says of itself: the digest of what was to be run, and that of its rows."""


@dataclass(frozen=True)
class Layer:
    """One matrix of a store: what it adds to the chunks that were there."""

    number: int
    matrix: Matrix
    engine: str
    pages: dict[str, str]
    """Digests of pages by name."""
    plan: str
    """Digest of the whole matrix, worked out."""
    chunks: int
    """How many it adds."""
    basis: tuple[str, ...]
    """Names of the chunks that were there."""

    @classmethod
    def of(cls, plan: Plan, number: int, chunks: int, basis: tuple[str, ...]) -> "Layer":
        """Make the layer of a plan."""
        return cls(number, plan.matrix, engine(), plan.page_digests, plan.digest, chunks, basis)

    @classmethod
    def read(cls, path: Path) -> "Layer":
        """Read `matrix-N.json`."""
        try:
            said = json.loads(path.read_text())
            if said["format"] != _FORMAT:
                raise InputError(
                    f"{path}: a store of format {said['format']}: read it with the loadstone that made it"
                )
            matrix = Matrix.of(said["matrix"], place=str(path))
            number = int(path.stem.removeprefix("matrix-"))
            engine, pages, plan, chunks = (said[key] for key in ("engine", "pages", "plan", "chunks"))
            return cls(number, matrix, engine, pages, plan, chunks, tuple(said["basis"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError(
                f"{path}: this file of the store is damaged: put it back, or sweep anew"
            ) from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({_why(error)})") from None

    def text(self) -> str:
        """Write `matrix-N.json`."""
        said = {
            "format": _FORMAT,
            "engine": self.engine,
            "matrix": self.matrix.document(),
            "pages": self.pages,
            "plan": self.plan,
            "chunks": self.chunks,
            "basis": list(self.basis),
        }
        return json.dumps(said, indent=1) + "\n"

    def name(self, chunk: int) -> str:
        """Name a chunk's file."""
        return f"{self.number}-{chunk:05}.parquet"

    @property
    def names(self) -> list[str]:
        """Name the files of all chunks that count."""
        return [*self.basis, *(self.name(number) for number in range(self.chunks))]


class Store:
    """The runs of a sweep, in a folder."""

    def __init__(self, folder: Path, layers: list[Layer]) -> None:
        self.folder = folder
        self._layers = layers

    @classmethod
    def open(cls, path: str | Path) -> "Store":
        """Open a store that is there."""
        folder = Path(path)
        found = _layers(folder)
        if not found:
            raise InputError(
                f"{path}: there is no store here: make one with 'loadstone sweep MATRIX -o {path}'"
            )
        return cls(folder, found)

    # --- reading ---

    @property
    def matrix(self) -> Matrix:
        """Give the newest matrix."""
        return self._layers[-1].matrix

    @property
    def engine(self) -> str:
        """Say which engine made it."""
        return self._layers[-1].engine

    def question(self) -> Question:
        """Give what an analysis asks, with all levels that the store has."""
        newest = self.matrix.question
        levels = {name: dict.fromkeys(each) for name, each in newest.factors.items()}
        for layer in self._layers[:-1]:
            for name, each in layer.matrix.levels.items():
                levels[name].update(dict.fromkeys(each))
        factors = {name: tuple(each) for name, each in levels.items()}
        return replace(newest, factors=factors)

    @property
    def paths(self) -> list[Path]:
        """Give the files of the chunks that are there, in the matrix's order."""
        names = self._layers[-1].names
        return [path for name in names if (path := self.folder / "runs" / name).exists()]

    def state(self) -> str:
        """Say how much of it is there."""
        there, all_of_it = len(self.paths), len(self._layers[-1].names)
        return "complete" if there == all_of_it else f"{there} of {all_of_it} chunks"

    def table(self) -> pa.Table:
        """Give the runs as an Arrow table, in the order of the chunks."""
        tables = [read_chunk(path) for path in self.paths]
        return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})

    def runs(self) -> "pl.DataFrame":
        """Give the runs as a frame of polars, in the matrix's order: the compared factor varies quickest."""
        import polars as pl

        table = self.table()
        if table.num_rows == 0:
            raise InputError(f"{self.folder}: no run is there yet: go on with the sweep")
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        question = self.question()
        order = [*(name for name in question.factors if name != question.compared), question.compared]
        by = [f"rank of {name}" for name in order]
        ranks = [
            _rank(frame, name, question.factors[name]).alias(rank)
            for name, rank in zip(order, by, strict=True)
        ]
        return frame.with_columns(ranks).sort([*by, "seed"], maintain_order=True).drop(by)

    def pandas(self) -> "pd.DataFrame":
        """Give the runs as a frame of pandas."""
        return self.runs().to_pandas()

    # --- writing ---

    @classmethod
    def prepare(
        cls, path: str | Path, plan: Plan, *, extend: bool = False
    ) -> "tuple[Store, list[Chunk], int]":
        """Make or open the store of a plan; give it, the chunks that it lacks, and how many runs it has.

        Raises `InputError` if the folder is a store of something else, unless it is to be extended, or if it
        cannot be written or a chunk is damaged.
        """
        folder = Path(path)
        try:
            (folder / "runs").mkdir(parents=True, exist_ok=True)
            for each in (folder, folder / "runs"):
                _sweep_away(each)
            layers = _layers(folder)
            if not layers or (extend and _difference(layers[-1], plan)):
                layers = _with_layer(folder, layers, plan)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({_why(error)})") from None
        if different := _difference(layers[-1], plan):
            raise InputError(
                f"{path}: this store is of another matrix ({'; '.join(different)}): give another folder, or "
                "--extend to add what is new to it"
            )
        store = cls(folder, layers)
        missing, there = store._missing(plan)
        if missing and not os.access(folder / "runs", os.W_OK):
            raise InputError(f"{path}: cannot be written: give another folder, or the right to write there")
        store._say_again(plan.matrix)
        return store, missing, there

    def write(self, chunk: Chunk, rows: pa.Table) -> None:
        """Write a chunk, all of it at once."""
        path = self.folder / "runs" / self._layers[-1].name(chunk.number)
        said = {_CHUNK: chunk.digest.encode(), _ROWS: _digest(rows).encode()}
        file = pa.BufferOutputStream()
        pq.write_table(rows.replace_schema_metadata(said), file, compression="zstd")
        try:
            _put(path, file.getvalue().to_pybytes())
        except OSError as error:
            raise InputError(
                f"{path}: cannot be written ({_why(error)}): the finished chunks are kept, make room and run "
                "it again"
            ) from None

    def _say_again(self, matrix: Matrix) -> None:
        """Keep what the matrix says of analyses now."""
        layer = self._layers[-1]
        if layer.matrix.document() != matrix.document():
            self._layers[-1] = replace(layer, matrix=matrix)
            _put(self.folder / f"matrix-{layer.number}.json", self._layers[-1].text().encode())

    def _missing(self, plan: Plan) -> tuple[list[Chunk], int]:
        """Give the chunks that are not there, and how many runs those have that are."""
        layer, runs = self._layers[-1], self.folder / "runs"
        there = sum(read_chunk(runs / name).num_rows for name in layer.basis)
        missing = []
        for chunk in _added(plan, runs, layer.basis):
            path = runs / layer.name(chunk.number)
            if not path.exists():
                missing.append(chunk)
                continue
            table = read_chunk(path)
            if table.schema.metadata[_CHUNK] != chunk.digest.encode():
                raise InputError(f"{path}: this chunk is of another matrix: remove it, then sweep again")
            there += table.num_rows
        return missing, there


def _rank(frame: "pl.DataFrame", name: str, levels: Sequence[Level]) -> "pl.Expr":
    """Give the place of each row's level among the levels."""
    import polars as pl

    values = pl.Series(levels, dtype=frame.schema[name], strict=False)
    return pl.col(name).replace_strict(values, range(len(levels)), return_dtype=pl.Int64)


# --- layers ---


def _layers(folder: Path) -> list[Layer]:
    numbers = sorted(
        int(found[1]) for path in folder.glob("matrix-*.json") if (found := _SAID.fullmatch(path.name))
    )
    return [Layer.read(folder / f"matrix-{number}.json") for number in numbers]


def _with_layer(folder: Path, layers: list[Layer], plan: Plan) -> list[Layer]:
    """Begin a store, or extend it by a matrix of the same factors."""
    if layers:
        _check_extension(layers, plan)
    number = layers[-1].number + 1 if layers else 1
    runs = folder / "runs"
    basis = tuple(name for name in layers[-1].names if (runs / name).exists()) if layers else ()
    layer = Layer.of(plan, number, sum(1 for _ in _added(plan, runs, basis)), basis)
    path = folder / f"matrix-{number}.json"
    try:
        _put(path, layer.text().encode(), first=True)
    except FileExistsError:
        # Somebody else began the same folder at this moment.
        layer = Layer.read(path)
    return [*layers, layer]


def _check_extension(layers: list[Layer], plan: Plan) -> None:
    last, place = layers[-1], plan.matrix.place
    if last.engine != engine():
        raise InputError(
            f"{place}: the store was made by engine {last.engine}, and this is {engine()}, so their runs "
            "cannot stand beside each other: give another folder"
        )
    if last.matrix.enough != plan.matrix.enough:
        raise InputError(
            f"{place}: until: a store is extended by runs that go on until gains are known as well as those "
            "that it has: give another folder"
        )
    if [*last.matrix.levels] != [*plan.matrix.levels] or last.matrix.live != plan.matrix.live:
        raise InputError(
            f"{place}: a store is extended by levels and runs, not by factors, and not from simulated to "
            "live: give another folder"
        )
    for layer in layers:
        for name, digest in layer.pages.items():
            if plan.page_digests.get(name, digest) != digest:
                raise InputError(f"{name}: this page is not what it was: give another folder")


def _added(plan: Plan, runs: Path, basis: tuple[str, ...]) -> Iterator[Chunk]:
    """Give the chunks of what the basis does not have."""
    done: dict[Run, str] = {}
    names = [*plan.matrix.levels]
    for name in basis:
        for row in read_chunk(runs / name).select([*names, "seed", "cell"]).to_pylist():
            done[tuple(row[name] for name in names), row["seed"]] = row["cell"]
    for cell in plan.cells if done else ():
        if done.get((tuple(cell.levels.values()), cell.seeds[0]), cell.digest) != cell.digest:
            levels = ", ".join(f"{name} = {level}" for name, level in cell.levels.items())
            raise InputError(
                f"{plan.matrix.place}: what the store has as {levels} was run with other settings: give "
                "another folder"
            )
    yield from plan.without(done).chunks()


def _difference(layer: Layer, plan: Plan) -> list[str]:
    """Say what is different between the matrix of a store and another."""
    if layer.plan == plan.digest and layer.engine == engine():
        return []
    there, here = _leaves(layer.matrix.document()), _leaves(plan.matrix.document())
    found = [
        f"{name}: {_changed(there.get(name), here.get(name))}"
        for name in dict.fromkeys([*there, *here])
        if there.get(name) != here.get(name)
    ]
    found += [
        f"{name}: the page is not what it was"
        for name, digest in plan.page_digests.items()
        if layer.pages.get(name, digest) != digest
    ]
    if layer.engine != engine():
        found.append(f"engine: {layer.engine} there, {engine()} here")
    if len(found) > _MOST_NAMED:
        found[_MOST_NAMED:] = [f"and {len(found) - _MOST_NAMED} differences more"]
    return found or ["a trace that it names is not what it was"]


def _leaves(document: dict[str, Any]) -> dict[str, Any]:
    """Take a matrix apart into what can differ by itself: `factors.iw`, `runs`."""
    leaves: dict[str, Any] = {}
    for key, value in document.items():
        if key not in _OF_THE_QUESTION:
            parts = {f"{key}.{name}": each for name, each in value.items()} if isinstance(value, dict) else {}
            leaves.update(parts or {key: value})
    return leaves


def _changed(there: Any, here: Any) -> str:
    if not isinstance(there, list) or not isinstance(here, list):
        return f"{_short(there)} there, {_short(here)} here"
    new, gone = ([one for one in a if one not in b] for a, b in ((here, there), (there, here)))
    said = [f"{_short(new)} new"] if new else []
    said += [f"{_short(gone)} gone"] if gone else []
    return " and ".join(said) or "another order"


def _short(value: Any) -> str:
    said = "nothing" if value in (None, {}, []) else json.dumps(value)
    return said if len(said) <= 80 else said[:77] + "..."


# --- files ---


def read_chunk(path: Path) -> pa.Table:
    """Read a chunk, and hold it against what it says of itself."""
    damaged = InputError(
        f"{path}: this chunk is damaged: remove it and run the sweep again, which makes it anew"
    )
    try:
        table = pq.read_table(path, partitioning=None, memory_map=False)
        said = table.schema.metadata or {}
        is_whole = said.get(_ROWS) == _digest(table).encode() and _CHUNK in said
    except FileNotFoundError:
        raise InputError(f"{path}: this chunk is gone: run the sweep again, which makes it anew") from None
    except PermissionError as error:
        raise InputError(f"{path}: cannot be read ({_why(error)})") from None
    except (OSError, pa.ArrowException, ValueError):
        raise damaged from None
    if not is_whole:
        raise damaged
    return table


def _digest(table: pa.Table) -> str:
    """Digest of a table's content: its columns, their types, which values are null, and the others.

    What stands in memory under a null is not content, and is not what it was after a file was read.
    """
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[f"{name} is null"] = column.is_null().cast(pa.uint8())
        plain = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
        columns[name] = plain.fill_null("" if pa.types.is_string(column.type) else 0)
    content = pa.table(columns).combine_chunks()
    sink = pa.BufferOutputStream()
    sink.write(str(table.schema.remove_metadata()).encode())
    with pa.ipc.new_stream(sink, content.schema) as stream:
        stream.write_table(content)
    return hashlib.sha256(sink.getvalue()).hexdigest()


def _put(path: Path, content: bytes, *, first: bool = False) -> None:
    """Make this a file's content, all of it at once; with `first` only if there is no such file.

    Raises `FileExistsError` in that case, any other `OSError` if it cannot be written.
    """
    while True:
        beside = path.with_name(f".loadstone-{secrets.token_hex(6)}.part")
        try:
            with beside.open("xb") as file:
                # Tells those that sweep away that somebody is writing it.
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                os.link(beside, path) if first else beside.replace(path)
            return _settle(path.parent)
        except FileNotFoundError:
            # Swept away between its making and its lock: once more, unless the folder itself is gone.
            if not path.parent.is_dir():
                raise
        finally:
            beside.unlink(missing_ok=True)


def _settle(folder: Path) -> None:
    """Bring a folder's list of names to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sweep_away(folder: Path) -> None:
    """Remove what writers left that were killed."""
    for path in folder.iterdir():
        if _PART.fullmatch(path.name) is None:
            continue
        with contextlib.suppress(FileNotFoundError, BlockingIOError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
