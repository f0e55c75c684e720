"""Clusters: chunks spread by Dask over the workers of a scheduler.

Only pages and settings go out and only rows come back: workers need the same loadstone, but no common disk.
"""

import ipaddress
import logging
import re
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager

import pyarrow as pa
from distributed import Client, KilledWorker, Security

from loadstone.engine import engine
from loadstone.files import InputError
from loadstone.stores.chunk_runs import run_chunk
from loadstone.stores.plan import Chunk

_CONNECT_SECONDS = 10.0
"""Seconds for a scheduler to answer."""
_WORKERS_SECONDS = 60.0
"""Seconds for workers to come, at first and when all have gone."""

_ADDRESS = re.compile(r"(?:([a-z]+)://)?(?:([^:/ \[\]]+)|\[([0-9a-f:.]+)\]):[0-9]+")
_ENCRYPTED = ("tls", "wss")
"""Schemes under which both ends show certificates, if Dask is configured so."""


@contextmanager
def connected(address: str, *, insecure: bool = False) -> Iterator[Client]:
    """Give a client of the scheduler at `address`: `host:port`, `tcp://host:port`, `tls://host:port`.

    Without TLS everyone who reaches the ports of a cluster can run code on it, and a false scheduler can run
    code here. So beyond this machine that is refused, unless it is meant: `insecure`.
    """
    parts = _ADDRESS.fullmatch(address)
    if parts is None:
        raise InputError(f"--dask: '{address}' is no address of a scheduler: give host:port")
    scheme, name, literal = parts.groups()
    if not (insecure or scheme in _ENCRYPTED or _is_loopback(name or literal)):
        raise InputError(
            f"--dask: {address} is not this machine, and without TLS others on the network can run code on "
            "the cluster and here: use tls:// (docs/sweeps.md), or --dask-insecure if the network is yours"
        )
    if scheme in _ENCRYPTED:
        _check_certificates(address)
    # What it has to say is said once, in a line of ours.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--dask: {address}: no scheduler answers there ({error}): start one") from None
    with client:
        yield client


def _is_loopback(host: str) -> bool:
    """Say whether a host is this machine by its name alone: what is looked up may be another."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_certificates(address: str) -> None:
    """Check that Dask has certificates to show and to trust; otherwise it would wait for them."""
    try:
        context = Security().get_connection_args("client")["ssl_context"]
    except OSError as error:
        raise InputError(
            f"--dask: the certificates of distributed.comm.tls cannot be read: {error}"
        ) from None
    if context is None:
        raise InputError(
            f"--dask: {address}: Dask has no certificates for TLS: set ca-file and client of "
            "distributed.comm.tls in its configuration (docs/sweeps.md)"
        )


class _Cluster:
    """The workers of a cluster."""

    def __init__(self, client: Client, executor: Executor) -> None:
        self._client = client
        self._executor = executor
        self._alone_since: float | None = None

    def places(self) -> int:
        return sum(self._client.nthreads().values())

    def submit(self, chunk: Chunk) -> "Future[pa.Table]":
        return self._executor.submit(run_chunk, chunk)

    def check(self) -> None:
        if self._client.status != "running":
            raise InputError("--dask: the scheduler is gone: finished chunks are kept, go on with another")
        if self.places() > 0:
            self._alone_since = None
            return
        now = time.monotonic()
        self._alone_since = self._alone_since or now
        if now - self._alone_since > _WORKERS_SECONDS:
            raise InputError("--dask: all workers are gone: finished chunks are kept, start some and go on")


@contextmanager
def workers(client: Client) -> Iterator[_Cluster]:
    """Give the workers behind a client; what is under way when it is left is cancelled."""
    _check_workers(client)
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
            "--dask: the cluster gave up: finished chunks are kept, go on with another"
        ) from None
    finally:
        executor.shutdown(wait=False)


def _check_workers(client: Client) -> None:
    """Wait for the first worker; refuse those that have no loadstone, or another."""
    try:
        client.wait_for_workers(1, timeout=_WORKERS_SECONDS)
    except TimeoutError:
        raise InputError("--dask: no worker has come to this scheduler: start some") from None
    for worker, theirs in client.run(engine, on_error="return").items():
        if theirs != engine():
            has = f"engine {theirs}" if isinstance(theirs, str) else f"no loadstone ({theirs})"
            raise InputError(
                f"--dask: {worker} has {has}, and the sweep is by {engine()}: install the same on all"
            )
