"""Sweeps over a Dask cluster: of processes on this machine, one of which is lost mid-way."""

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import LocalCluster, Security

from conftest import Command, need
from loadstone.files import InputError
from loadstone.stores import Matrix, cluster, sweep
from test_store import LONG, content


@pytest.fixture(scope="module")
def processes() -> Iterator[LocalCluster]:
    """Two workers of one thread, each a process of its own, on the loopback alone."""
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        local_directory=None,
        silence_logs=50,
    ) as made:
        yield made


def pids(made: LocalCluster) -> list[int]:
    return [nanny.pid for nanny in made.workers.values() if nanny.pid]


def test_a_lost_worker_costs_only_its_chunks(tmp_path: Path, processes: LocalCluster) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    matrix = replace(Matrix.read(str(tmp_path / "long.toml")), runs=60)
    sweep(matrix, tmp_path / "local")
    killed: list[int] = []

    def kill_one(done: int, total: int) -> None:
        if not killed and 0 < done < total / 2:
            killed.append(pids(processes)[0])
            os.kill(killed[0], signal.SIGKILL)

    with cluster.connected(processes.scheduler_address) as client:
        swept = sweep(matrix, tmp_path / "spread", client=client, progress=kill_one)
    assert len(killed) == 1
    assert swept.ran == swept.runs
    assert content(tmp_path / "spread") == content(tmp_path / "local")


def test_loads_over_the_kernel_are_not_spread(tmp_path: Path, processes: LocalCluster) -> None:
    beyond = Matrix(factors={"iw": [3]}, common={"page": "synthetic:A", "network": "dsl"}, live=True)
    with (
        cluster.connected(processes.scheduler_address) as client,
        pytest.raises(InputError, match="leave out --dask"),
    ):
        sweep(beyond, tmp_path / "s", client=client)


def test_the_command_goes_to_a_scheduler(tmp_path: Path, processes: LocalCluster, loadstone: Command) -> None:
    (tmp_path / "m.toml").write_text(
        'factors.iw = [3, 10]\ncommon = { page = "synthetic:A", network = "dsl-lossy" }\n'
    )
    line = ["sweep", tmp_path / "m.toml", "--json", "-o"]
    there = loadstone(*line, tmp_path / "there", "--dask", processes.scheduler_address)
    here = loadstone(*line, tmp_path / "here")
    assert (there.code, there.document["runs_now"]) == (0, 42)
    assert here.document["runs_now"] == 42
    assert content(tmp_path / "there") == content(tmp_path / "here")


def test_a_scheduler_without_workers_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_WORKERS_SECONDS", 0.3)
    matrix = Matrix(factors={"iw": [3]}, common={"page": "synthetic:A", "network": "dsl"})
    with (
        LocalCluster(
            n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as alone,
        cluster.connected(alone.scheduler_address) as client,
        pytest.raises(InputError, match="no worker has come"),
    ):
        sweep(matrix, tmp_path / "s", client=client)


def test_a_worker_with_another_engine_is_refused(
    tmp_path: Path, processes: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = Matrix(factors={"iw": [3]}, common={"page": "synthetic:A", "network": "dsl"})
    monkeypatch.setattr(cluster, "engine", _another)
    with (
        cluster.connected(processes.scheduler_address) as client,
        pytest.raises(InputError, match=r"has no loadstone|has engine .* and the sweep is by 0\.0\.0"),
    ):
        sweep(matrix, tmp_path / "s", client=client)


def _another() -> str:
    return f"0.0.0+{os.getpid()}"


def test_other_machines_are_not_spoken_to_without_tls_unless_that_is_meant(
    tmp_path: Path, loadstone: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def no_one_there(address: str, **_: Any) -> None:
        asked.append(address)
        raise OSError("no one there")

    monkeypatch.setattr(cluster, "Client", no_one_there)
    monkeypatch.setattr(cluster, "_check_certificates", lambda address: None)
    (tmp_path / "m.toml").write_text('factors.iw = [3]\ncommon = { page = "synthetic:A", network = "dsl" }\n')
    line = ["sweep", tmp_path / "m.toml", "-o", tmp_path / "s", "--dask"]
    # RFC 5737, RFC 3849; a name may be looked up to be any machine.
    plain = [
        "192.0.2.1:8786",
        "tcp://192.0.2.1:8786",
        "[2001:db8::1]:8786",
        "scheduler:8786",
        "ws://a.test:1",
    ]
    for address in plain:
        result = loadstone(*line, address)
        assert (result.code, result.err.count("\n"), asked) == (2, 1, [])
        assert "use tls://" in result.err and "--dask-insecure" in result.err
    here = [
        "127.0.0.1:1",
        "tcp://127.8.9.1:1",
        "[::1]:1",
        "localhost:1",
        "tls://scheduler:8786",
        "wss://a.test:1",
    ]
    for address in here:
        assert "no scheduler answers" in loadstone(*line, address).err
    assert "no scheduler answers" in loadstone(*line, plain[0], "--dask-insecure").err
    assert asked == [*here, plain[0]]
    assert "--dask" in loadstone("sweep", tmp_path / "m.toml", "--plan", "--dask-insecure").err


def test_a_cluster_with_tls_takes_only_who_has_a_certificate(
    tmp_path: Path, loadstone: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [
        need("openssl"),
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
    ]
    command += [
        "-days",
        "2",
        "-subj",
        "/CN=cluster",
        "-keyout",
        tmp_path / "key.pem",
        "-out",
        tmp_path / "cert.pem",
    ]
    subprocess.run(command, check=True, capture_output=True)
    ours = {"cert": str(tmp_path / "cert.pem"), "key": str(tmp_path / "key.pem")}
    tls = {f"{who}.{what}": path for who in ("scheduler", "worker", "client") for what, path in ours.items()}
    tls |= {"ca-file": ours["cert"]}
    monkeypatch.setattr(cluster, "_CONNECT_SECONDS", 2.0)
    (tmp_path / "m.toml").write_text('factors.iw = [3]\ncommon = { page = "synthetic:A", network = "dsl" }\n')
    line = ["sweep", tmp_path / "m.toml", "-o", tmp_path / "s", "--json", "--dask"]
    with (
        dask.config.set({f"distributed.comm.tls.{what}": path for what, path in tls.items()}),
        LocalCluster(
            n_workers=1,
            processes=False,
            protocol="tls",
            host="tls://127.0.0.1",
            security=Security(),
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as encrypted,
    ):
        with dask.config.set({f"distributed.comm.tls.{what}": None for what in tls}):
            without = loadstone(*line, encrypted.scheduler_address)
        assert (without.code, without.err.count("\n")) == (2, 1)
        assert "distributed.comm.tls" in without.err
        assert loadstone(*line, encrypted.scheduler_address).document["runs_now"] == 1


def test_no_scheduler_is_one_line(
    tmp_path: Path, loadstone: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_SECONDS", 0.5)
    (tmp_path / "m.toml").write_text('factors.iw = [3]\ncommon = { page = "synthetic:A", network = "dsl" }\n')
    for address, said in [("127.0.0.1:1", "no scheduler answers"), ("127.0.0.1", "is no address")]:
        result = loadstone("sweep", tmp_path / "m.toml", "-o", tmp_path / "s", "--dask", address)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert said in result.err
