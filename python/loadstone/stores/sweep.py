"""Sweeps: a matrix into a store, chunk by chunk, over the cores of this machine or of a cluster."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from loadstone._native import live_access
from loadstone.files import InputError
from loadstone.stores.chunk_runs import Stop, run_chunk
from loadstone.stores.matrix import Matrix
from loadstone.stores.plan import Chunk, Plan
from loadstone.stores.store import Store, in_order

if TYPE_CHECKING:
    import polars as pl
    from distributed import Client

Progress = Callable[[int, int], None]

_MOMENT = 0.2
"""Seconds that Ctrl-C may wait."""
_AHEAD = 2
"""Chunks under way for each place: enough that none is ever idle, few enough to keep in memory."""


class Workers(Protocol):
    """Who runs chunks."""

    def places(self) -> int:
        """Say how many chunks can be run at the same time, at this moment."""

    def submit(self, chunk: Chunk) -> "Future[pa.Table]":
        """Begin a chunk."""

    def check(self) -> None:
        """Raise `InputError` if no worker is left that could run one."""


@dataclass(frozen=True)
class Swept:
    """What a sweep did."""

    store: Store
    cells: int
    runs: int
    chunks: int
    """Chunks of the matrix that were not there."""
    ran: int
    """Runs of those."""


def sweep(
    matrix: Matrix,
    folder: str | Path,
    *,
    threads: int | None = None,
    client: "Client | None" = None,
    extend: bool = False,
    progress: Progress = lambda done, total: None,
) -> Swept:
    """Run what the folder lacks of the matrix.

    Works on `threads` threads (all cores if it is left out; one for loads over the kernel), or on the Dask
    cluster of a `client`; the store is the same. `extend` adds what is new in a matrix to the store of
    another. `progress` is told runs done and the most that there may be. Raises `InputError` if something
    cannot be run, read or written; finished chunks are kept.
    """
    plan = Plan.of(matrix)
    store, missing, there = Store.prepare(folder, plan, extend=extend)
    progress(there, there + sum(chunk.runs for chunk in missing))
    ran = 0
    if missing:
        with _workers(matrix, threads, client) as workers:
            for chunk, done in _run(missing, workers, progress, there):
                store.write(chunk, done)
                ran += done.num_rows
    return Swept(store, len(plan.cells), there + ran, len(missing), ran)


def collect(
    matrix: Matrix, *, threads: int | None = None, progress: Progress = lambda done, total: None
) -> "pl.DataFrame":
    """Run all of a matrix and keep it in memory: a frame as `Store.runs` gives it.

    Raises `InputError` if something cannot be run or read.
    """
    chunks = list(Plan.of(matrix).chunks())
    with _here(matrix, threads) as workers:
        parts = {chunk.number: done for chunk, done in _run(chunks, workers, progress)}
    return in_order(pa.concat_tables([parts[number] for number in sorted(parts)]), matrix.question)


def _workers(matrix: Matrix, threads: int | None, client: "Client | None") -> AbstractContextManager[Workers]:
    if client is None:
        return _here(matrix, threads)
    if matrix.live:
        raise InputError(f"{matrix.place}: live: loads over the kernel are of this machine: leave out --dask")
    from loadstone.stores import cluster

    return cluster.workers(client)


class _Threads:
    """Threads of this process."""

    def __init__(self, pool: ThreadPoolExecutor, places: int, stop: Stop) -> None:
        self._pool = pool
        self._places = places
        self._run = partial(run_chunk, stop=stop)

    def places(self) -> int:
        return self._places

    def submit(self, chunk: Chunk) -> "Future[pa.Table]":
        return self._pool.submit(self._run, chunk)

    def check(self) -> None:
        """Threads stay."""


@contextmanager
def _here(matrix: Matrix, threads: int | None) -> Iterator[Workers]:
    # Before the first thread starts: what loads over the kernel need is of the whole process.
    if matrix.live and (why_not := live_access()):
        raise InputError(f"{matrix.place}: live: {why_not}")
    places = threads or (1 if matrix.live else len(os.sched_getaffinity(0)))
    stop = Stop()
    with ThreadPoolExecutor(places) as pool:
        try:
            yield _Threads(pool, places, stop)
        finally:
            stop.stop()
            pool.shutdown(wait=False, cancel_futures=True)


def _run(
    chunks: Sequence[Chunk], workers: Workers, progress: Progress, made: int = 0
) -> Iterator[tuple[Chunk, pa.Table]]:
    """Run chunks, in addition to the `made` runs that are there; give each as it is done, in any order."""
    left = sum(chunk.runs for chunk in chunks)
    waiting = iter(chunks)
    under_way: dict[Future[pa.Table], Chunk] = {}
    while True:
        room = _AHEAD * max(1, workers.places()) - len(under_way)
        under_way.update((workers.submit(chunk), chunk) for chunk in islice(waiting, max(0, room)))
        if not under_way:
            return
        # Waits for a moment only: Ctrl-C does not end a wait that another thread has to end.
        finished, _ = wait(under_way, _MOMENT, FIRST_COMPLETED)
        for future in finished:
            chunk, done = under_way.pop(future), future.result()
            yield chunk, done
            # There may have been enough runs before the most that could be.
            made, left = made + done.num_rows, left - chunk.runs
            progress(made, made + left)
        workers.check()
