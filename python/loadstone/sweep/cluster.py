"""Clusters: chunks spread by Dask over the workers of a scheduler.

Only pages and settings go out and only rows come back: workers need the same loadstone, but no common disk.
"""

from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager

import pyarrow as pa
from distributed import Client, KilledWorker

from loadstone.files import InputError
from loadstone.sweep.chunk_runs import run_chunk
from loadstone.sweep.plan import Chunk

_PATIENCE = 10.0
"""Seconds for a scheduler to answer."""


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Give a client of the scheduler at `address`: `host:port`, `tcp://host:port`, `tls://host:port`."""
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--dask: {address}: no scheduler answers there ({error}): start one") from None
    with client:
        yield client


class _Cluster:
    """The workers of a cluster."""

    def __init__(self, client: Client, executor: Executor) -> None:
        self._client = client
        self._executor = executor

    def places(self) -> int:
        return sum(self._client.nthreads().values())

    def submit(self, chunk: Chunk) -> "Future[pa.Table]":
        return self._executor.submit(run_chunk, chunk)

    def check(self) -> None:
        if self._client.status != "running":
            raise InputError(
                "--dask: the scheduler is gone: the finished chunks are kept, go on with another"
            )


@contextmanager
def workers(client: Client) -> Iterator[_Cluster]:
    """Give the workers behind a client; what is under way when it is left is cancelled."""
    executor = client.get_executor(pure=False)
    try:
        yield _Cluster(client, executor)
    except KilledWorker as error:
        raise InputError(
            f"--dask: several workers ended while they ran one chunk ({error}): give them more memory, "
            "and go on: finished chunks are kept"
        ) from None
    except CancelledError:
        raise InputError(
            "--dask: the cluster gave up: the finished chunks are kept, go on with another"
        ) from None
    finally:
        executor.shutdown(wait=False)
