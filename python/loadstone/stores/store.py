"""Stores: the runs of a sweep as a folder of Parquet files, each complete or absent.

    matrix.json                          what is run, and by which engine
    runs/00000-0f3a92c1d4e5.parquet      a chunk, a row for each run; its name says what it consists of

A chunk's name and content follow from the matrix alone, so a sweep that goes on, or two at the same time,
write the same bytes. What is missing is what the matrix says less what is there, however it came there.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from loadstone.analysis.question import Level, Question
from loadstone.engine import engine
from loadstone.files import InputError
from loadstone.stores import rows
from loadstone.stores.matrix import MOST_ROWS, Matrix
from loadstone.stores.plan import Chunk, Name, Plan, Runs

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_FORMAT = 2
_MATRIX, _RUNS, _LOCK = "matrix.json", "runs", ".lock"
_PART = re.compile(r"\.loadstone-[0-9a-f]{12}\.part")
_OF_THE_QUESTION = ("title", "analysis")
"""What a matrix says of analyses: it may change at any time."""
_MOST_NAMED = 4
"""Differences that a refusal names."""

_KINDS = {"engine": str, "plan": str, "cells": int, "pages": dict, "matrix": dict, "levels": dict}
"""Of what kind the parts of a manifest are."""

_CHUNK, _ROWS = b"loadstone.chunk", b"loadstone.rows"
"""What a file says of itself: the digest of what was to be run, and that of its rows."""


@dataclass(frozen=True)
class Manifest:
    """What a store is of."""

    engine: str
    plan: str
    """Digest of the matrix, worked out."""
    cells: int
    runs: int | None
    """How many there are when it is complete, if that is known before."""
    pages: dict[str, str]
    """Digests of pages by name."""
    matrix: dict[str, Any]
    levels: dict[str, list[Level]]
    """All levels that were ever asked for, by factor."""

    @classmethod
    def of(cls, plan: Plan, before: "Manifest | None", there: Runs, missing: int) -> "Manifest":
        """Make that of a plan, in place of the one before; `missing` runs are not there yet, at most."""
        levels = {name: dict.fromkeys(before.levels[name]) if before else {} for name in plan.matrix.levels}
        for name, each in plan.matrix.levels.items():
            levels[name].update(dict.fromkeys(each))
        return cls(
            engine=engine(),
            plan=plan.digest,
            cells=len(there.seeds.keys() | {cell.name for cell in plan.cells}),
            runs=None if plan.matrix.until else there.count + missing,
            pages={**(before.pages if before else {}), **plan.page_digests},
            matrix=plan.matrix.document(),
            levels={name: [*each] for name, each in levels.items()},
        )

    @classmethod
    def read(cls, path: Path) -> "Manifest":
        """Read `matrix.json`."""
        damaged = InputError(f"{path}: this file of a store is damaged: put it back, or sweep again")
        try:
            said = json.loads(path.read_bytes())
            if said.pop("format") != _FORMAT:
                raise InputError(
                    f"{path}: a store of another format: read it with the loadstone that made it"
                )
            manifest = cls(**said)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise damaged from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({_why(error)})") from None
        if any(not isinstance(getattr(manifest, name), kind) for name, kind in _KINDS.items()):
            raise damaged
        return manifest

    def text(self) -> bytes:
        """Write `matrix.json`."""
        return (json.dumps({"format": _FORMAT, **asdict(self)}, indent=1) + "\n").encode()


class Store:
    """The runs of a sweep, in a folder."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self._manifest = manifest

    @classmethod
    def open(cls, path: str | Path) -> "Store":
        """Open a store that is there."""
        folder = Path(path)
        if not (folder / _MATRIX).exists():
            raise InputError(f"{path}: there is no store here: make one with 'loadstone sweep'")
        return cls(folder, Manifest.read(folder / _MATRIX))

    # --- reading ---

    @property
    def matrix(self) -> Matrix:
        """Give the matrix."""
        return Matrix.of(self._manifest.matrix, place=str(self.folder / _MATRIX))

    @property
    def engine(self) -> str:
        """Say which engine made it."""
        return self._manifest.engine

    def question(self) -> Question:
        """Give what an analysis asks, with all levels that the store has."""
        factors = {name: tuple(levels) for name, levels in self._manifest.levels.items()}
        return replace(self.matrix.question, factors=factors)

    def state(self) -> str:
        """Say how much of it is there."""
        manifest = self._manifest
        there = _there(self.folder, [*manifest.levels])
        if len(there.seeds) < manifest.cells:
            return f"{len(there.seeds):,} of {manifest.cells:,} cells"
        if manifest.runs is not None and there.count < manifest.runs:
            return f"{there.count:,} of {manifest.runs:,} runs"
        return "complete"

    def table(self) -> pa.Table:
        """Give the runs as an Arrow table, in the order of the chunks."""
        tables = [rows.of_today(read_chunk(path)).replace_schema_metadata() for path in _paths(self.folder)]
        if not tables:
            raise InputError(f"{self.folder}: no run is there yet: go on with the sweep")
        try:
            return pa.concat_tables(tables)
        except pa.ArrowInvalid:
            raise InputError(
                f"{self.folder}: the chunks are not all of one matrix: remove the others"
            ) from None

    def runs(self) -> "pl.DataFrame":
        """Give the runs as a frame of polars, in the matrix's order: the compared factor varies quickest."""
        return in_order(self.table(), self.question())

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
            (folder / _RUNS).mkdir(parents=True, exist_ok=True)
            with _locked(folder):
                for each in (folder, folder / _RUNS):
                    _remove_leftovers(each)
                before = _before(folder, plan, extend=extend)
                there = _there(folder, [*plan.matrix.levels])
                missing = _missing(plan, there)
                if missing and not os.access(folder / _RUNS, os.W_OK):
                    raise InputError(f"{path}: cannot be written: give another folder, or the right to do so")
                manifest = Manifest.of(plan, before, there, sum(chunk.runs for chunk in missing))
                if manifest != before:
                    _write_atomically(folder / _MATRIX, manifest.text())
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({_why(error)})") from None
        return cls(folder, manifest), missing, there.count

    def write(self, chunk: Chunk, table: pa.Table) -> None:
        """Write a chunk, all of it at once."""
        path = self.folder / _RUNS / chunk.file
        said = {_CHUNK: chunk.digest.encode(), _ROWS: _digest(table).encode()}
        file = pa.BufferOutputStream()
        pq.write_table(table.replace_schema_metadata(said), file, compression="zstd")
        try:
            with _locked(self.folder):
                if Manifest.read(self.folder / _MATRIX).plan != self._manifest.plan:
                    raise InputError(
                        f"{self.folder}: this store was extended meanwhile: sweep the matrix that it has now"
                    )
                _write_atomically(path, file.getvalue().to_pybytes())
        except OSError as error:
            raise InputError(
                f"{path}: cannot be written ({_why(error)}): the finished chunks are kept, make room and run "
                "it again"
            ) from None


def in_order(table: pa.Table, question: Question) -> "pl.DataFrame":
    """Give runs in the order of the question's factors, of which the compared one varies quickest."""
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    order = [*(name for name in question.factors if name != question.compared), question.compared]
    by = [f"rank of {name}" for name in order]
    ranks = [
        _rank(frame, name, question.factors[name]).alias(rank) for name, rank in zip(order, by, strict=True)
    ]
    ranked = frame.with_columns(ranks).sort([*by, "seed"], maintain_order=True).drop(by)
    if ranked.select(*order, "seed").is_duplicated().any():
        raise InputError("a run stands there twice: keep the chunks of one sweep in a folder")
    return ranked


def _rank(frame: "pl.DataFrame", name: str, levels: Sequence[Level]) -> "pl.Expr":
    """Give the place of each row's level among the levels."""
    import polars as pl

    values = pl.Series(levels, dtype=frame.schema[name], strict=False)
    return pl.col(name).replace_strict(values, range(len(levels)), return_dtype=pl.Int64)


# --- what is there ---


def _paths(folder: Path) -> list[Path]:
    return sorted((folder / _RUNS).glob("[0-9]*.parquet"))


def _there(folder: Path, names: Sequence[str]) -> Runs:
    """Say which runs there are, by the levels of these factors; a damaged chunk is named."""
    seeds: dict[Name, set[int]] = {}
    digests: dict[Name, str] = {}
    for path in _paths(folder):
        table = read_chunk(path)
        if not {*names} <= {*table.column_names}:
            raise InputError(f"{path}: this chunk is of another matrix: remove it")
        columns = (table[name].to_pylist() for name in (*names, "seed", "cell"))
        for *levels, seed, digest in zip(*columns, strict=True):
            seeds.setdefault(tuple(levels), set()).add(seed)
            digests[tuple(levels)] = digest
    return Runs(seeds, digests)


def _missing(plan: Plan, there: Runs) -> list[Chunk]:
    """Give what is left of a plan's chunks."""
    try:
        left = [chunk.without(there) for chunk in plan.chunks()]
    except InputError as error:
        raise InputError(f"{plan.matrix.place}: {error}") from None
    return [chunk for chunk in left if chunk is not None]


# --- another matrix ---


def _before(folder: Path, plan: Plan, *, extend: bool) -> Manifest | None:
    """Say what the folder is a store of, if of anything; refuse what the plan cannot go on with."""
    if not (folder / _MATRIX).exists():
        if _paths(folder):
            raise InputError(f"{folder}: there are runs here, and no {_MATRIX}: give another folder")
        return None
    manifest = Manifest.read(folder / _MATRIX)
    different = _difference(manifest, plan)
    if different and not extend:
        why_not = _why_not_extended(manifest, plan)
        remedy = "give another folder" + ("" if why_not else ", or --extend to add what is new to it")
        raise InputError(f"{folder}: this store is of another matrix ({'; '.join(different)}): {remedy}")
    if different and (why_not := _why_not_extended(manifest, plan)):
        raise InputError(f"{plan.matrix.place}: {why_not}: give another folder")
    return manifest


def _why_not_extended(manifest: Manifest, plan: Plan) -> str | None:
    """Say why a store cannot be extended by a plan."""
    matrix = plan.matrix
    before = Matrix.of(manifest.matrix)
    if manifest.engine != engine():
        return f"the store was made by engine {manifest.engine}, and this is {engine()}"
    stopping = [(each.until, each.runs if each.until else None, each.live) for each in (before, matrix)]
    if stopping[0] != stopping[1]:
        return (
            "until: a store is extended by runs that stop as those did that it has, and from the same world"
        )
    kinds = [rows.schema(each.levels, live=each.live) for each in (before, matrix)]
    if kinds[0].names != kinds[1].names:
        return "a store is extended by levels and runs, not by factors"
    for name in matrix.levels:
        if kinds[0].field(name) != kinds[1].field(name):
            return f"{name}: the store has levels of another kind: {kinds[0].field(name).type}"
    for name, digest in manifest.pages.items():
        if plan.page_digests.get(name, digest) != digest:
            return f"{name}: this page is not what it was"
    return None


def _difference(manifest: Manifest, plan: Plan) -> list[str]:
    """Say what is different between the matrix of a store and another."""
    if manifest.plan == plan.digest and manifest.engine == engine():
        return []
    there, here = _leaves(manifest.matrix), _leaves(plan.matrix.document())
    found = [
        f"{name}: {_changed(there.get(name), here.get(name))}"
        for name in dict.fromkeys([*there, *here])
        if there.get(name) != here.get(name)
    ]
    found += [
        f"{name}: the page is not what it was"
        for name, digest in plan.page_digests.items()
        if manifest.pages.get(name, digest) != digest
    ]
    if manifest.engine != engine():
        found.append(f"engine: {manifest.engine} there, {engine()} here")
    if len(found) > _MOST_NAMED:
        found[_MOST_NAMED:] = [f"and {len(found) - _MOST_NAMED} differences more"]
    return found or ["the order of factors, what is compared, or a trace that it names is another"]


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
        f"{path}: this chunk is damaged: remove it and run the sweep again, which makes a new one"
    )
    try:
        with pq.ParquetFile(path, memory_map=False) as file:
            # A short file can say that it has any number of rows, and they would all be made first.
            if file.metadata.num_rows > MOST_ROWS:
                raise damaged
            table = file.read()
        said = table.schema.metadata or {}
        is_whole = said.get(_ROWS) == _digest(table).encode() and _CHUNK in said
    except FileNotFoundError:
        raise InputError(f"{path}: this chunk is gone: run the sweep again, which makes a new one") from None
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


def _write_atomically(path: Path, content: bytes) -> None:
    """Make this a file's content, all of it at once. Raises `OSError` if it cannot be written."""
    temporary = path.with_name(f".loadstone-{secrets.token_hex(6)}.part")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Bring a folder's list of names to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the store's lock: no one else changes its manifest or adds to it meanwhile."""
    with contextlib.ExitStack() as stack:
        # A folder that cannot be written can still be read, and some disks have no locks.
        with contextlib.suppress(OSError):
            file = stack.enter_context((folder / _LOCK).open("ab"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed writers left. The caller holds the folder's lock, so no writer is at work."""
    for path in folder.iterdir():
        if _PART.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
