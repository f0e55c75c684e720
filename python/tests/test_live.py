"""Loads over the kernel as a user meets them: what is printed, who may, and what is left of them."""

import json
import platform
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Command, Result
from kernel import LOADSTONE, PATIENCE, as_nobody, need_nobody, result_of
from live import FakeKernel
from loadstone import experiment
from loadstone.stores import Store

TLS_FREE = "--tls none --network 10/1mbit,50ms"
ENDLESS = ["load", "synthetic:objects=1,size=1KB", "--live", "--network", "1mbit,3600s"]
"""Goes on until the browser gives up connecting, after nine minutes."""
CONDITIONS = {"kernel", "paused_ms", "pauses", "late_median_ms", "late_p90_ms", "late_worst_ms"}


@pytest.fixture
def live(access: None) -> Command:
    """Run `load --live` in a process of its own."""

    def run(*arguments: str) -> Result:
        command = [*LOADSTONE, "load", "--live", *arguments]
        return result_of(subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE))

    return run


def _run(result: Result) -> Any:
    """Give the only run of a document."""
    assert (result.code, result.err) == (0, "")
    (run,) = result.document["runs"]
    assert run["completed"]
    return run


def test_the_document_is_that_of_a_simulated_load_with_conditions(live: Command, loadstone: Command) -> None:
    chosen = ["synthetic:objects=1,size=100KB", *TLS_FREE.split(), "--json"]
    measured, simulated = live(*chosen), loadstone("load", *chosen, "--exact")
    assert measured.document.keys() == simulated.document.keys()
    for same in ("page", "network", "variant"):
        assert measured.document[same] == simulated.document[same]
    run, modelled = _run(measured), _run(simulated)
    assert run.keys() == modelled.keys() | {"conditions"}
    conditions = run["conditions"]
    assert conditions.keys() == CONDITIONS
    assert conditions["kernel"] == platform.release()
    assert 0 < conditions["late_median_ms"] <= conditions["late_p90_ms"] <= conditions["late_worst_ms"]
    assert (conditions["paused_ms"] > 0) == (conditions["pauses"] > 0)
    assert measured.document["median_plt_ms"] == run["plt_ms"]
    assert sum(run["account"].values()) == pytest.approx(run["plt_ms"])
    # Of 70 segments in flights of 10, 20 and 40 the last needs 48 ms after four round trips.
    assert run["plt_ms"] > 248
    assert run["plt_ms"] == pytest.approx(modelled["plt_ms"], rel=0.05)
    assert abs(run["packets_down"] - modelled["packets_down"]) <= 3
    assert run["bytes_down"] == pytest.approx(modelled["bytes_down"], rel=0.02)


def test_the_text_names_the_kernel_and_how_late_its_packets_were(live: Command) -> None:
    result = live("synthetic:objects=4,size=5KB", *TLS_FREE.split(), "--waterfall")
    assert (result.code, result.err) == (0, "")
    assert (
        f"TCP of Linux {platform.release()} " in " ".join(result.out.split()) and "linux-6" not in result.out
    )
    said, waterfall = result.out.split("measured over the kernel: the worst packet was ")
    assert "page load time" in said and float(said.split("page load time")[1].split()[0]) > 100
    late, _, rest = waterfall.partition(" ms late")
    assert float(late) > 0
    assert rest.count("\N{FULL BLOCK}") >= 4, "the waterfall follows"


def test_a_sweep_over_the_kernel_is_kept_and_gone_on_with(access: None, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        'live = true\nruns = 2\nfactors.loss = [0, 1]\nfactors.protocol = ["http/1.1", "h2"]\n[common]\n'
        'page = "synthetic:objects=3,size=4KB"\ntls = "none"\nnetwork = "10mbit,10ms,loss={loss}%"\n'
    )

    def sweep() -> Any:
        command = [*LOADSTONE, "sweep", tmp_path / "m.toml", "-o", tmp_path / "s", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
        return json.loads(done.stdout)

    assert sweep()["runs_now"] == 8
    runs = Store.open(tmp_path / "s").runs()
    assert runs["completed"].all() and runs["is_random"].all()
    assert (runs["live_late_p90_ms"] > 0).all()
    first, *others = sorted((tmp_path / "s" / "runs").glob("*.parquet"))
    for path in others:
        path.unlink()
    assert sweep()["runs_now"] == 6
    kept = pl.read_parquet(first).select("loss", "protocol", "seed", "plt_ms")
    again = Store.open(tmp_path / "s").runs().select(kept.columns)
    assert again.join(kept, on=kept.columns, how="semi").height == kept.height == 2, "they were not run again"


def test_another_tcp_than_the_kernels_is_refused(live: Command) -> None:
    result = live("synthetic:objects=1,size=5KB", *TLS_FREE.split(), "--tcp", "textbook")
    assert result.code == 2 and "this kernel's own" in result.err and result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("earlier_loads", 3, "variant.earlier_loads"),
        ("visit_after", 74, "--visit-after"),
        ("tls", "1.0", "--tls"),
    ],
)
def test_what_a_kernel_cannot_have_is_refused_by_name(
    live: Command, tmp_path: Path, field: str, value: object, named: str
) -> None:
    page = {"objects": [{"url": "http://a.test/", "bytes": 1000, "response_fields": []}]}
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps({"page": page, "network": "10mbit,20ms", "variant": {field: value}}))
    result = live("--scenario", path)
    assert result.code == 2 and named in result.err and "or simulate" in result.err


def test_its_packets_are_those_of_a_simulated_load(live: Command, loadstone: Command, tmp_path: Path) -> None:
    one, other = str(tmp_path / "live.csv"), str(tmp_path / "simulated.csv")
    chosen = ["synthetic:objects=1,size=30KB", *TLS_FREE.split()]
    run = _run(live(*chosen, "--packets", one, "--json"))
    assert loadstone("load", *chosen, "--packets", other).code == 0
    # Of 40 packets all but the last acknowledgements; a pause of the machine may move some.
    comparison = loadstone("packets", one, other, "--tolerance", "20", "--json").document
    assert comparison["alike"] > 30
    lines = Path(one).read_text().splitlines()
    assert len(lines) == 1 + run["packets_down"] + run["packets_up"]


def test_a_scenario_file_is_loaded_live(live: Command, tmp_path: Path, small: str) -> None:
    scenario = {
        "page": json.loads(Path(small).read_text()),
        "network": "20mbit,20ms",
        "variant": {"protocol": "spdy/3.1", "tls": "1.2"},
        "seed": 7,
    }
    (tmp_path / "live.json").write_text(json.dumps(scenario))
    result = live("--scenario", str(tmp_path / "live.json"), "--json")
    run = _run(result)
    assert (run["seed"], run["connections"]) == (7, 2)
    assert result.document["variant"]["protocol"] == "spdy/3.1"


def test_several_runs_at_once_come_in_the_order_of_their_seeds(live: Command) -> None:
    network = "--network 20mbit,30ms,1% --tls none"
    result = live(
        "synthetic:objects=8,size=20KB",
        *network.split(),
        "--runs",
        "3",
        "--threads",
        "3",
        "--seed",
        "5",
        "--json",
    )
    assert (result.code, result.err) == (0, "")
    runs = result.document["runs"]
    assert [run["seed"] for run in runs] == [5, 6, 7]
    assert all(run["completed"] and run["conditions"]["kernel"] == platform.release() for run in runs)
    assert statistics.median(run["plt_ms"] for run in runs) == result.document["median_plt_ms"]


def test_two_streams_of_hosts_come_over_tls(live: Command, small: str) -> None:
    run = _run(live(small, "--protocol", "h2", "--tls", "1.3", "--network", "20mbit,20ms", "--json"))
    # One connection to each host: a round trip for TCP and one for TLS, then one for the request.
    assert run["connections"] == 2
    assert run["account"]["handshakes"] > 40
    assert run["plt_ms"] > 60


def test_bbr_is_the_kernel_s_or_is_refused_by_name(live: Command, loadstone: Command) -> None:
    chosen = ["synthetic:objects=1,size=20KB", *TLS_FREE.split(), "--cc", "bbr", "--json"]
    result = live(*chosen)
    if result.code == 0:
        assert _run(result)["plt_ms"] > 100
    else:
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert "--cc: this kernel has no congestion control 'bbr'" in result.err and "modprobe" in result.err


@pytest.mark.parametrize("option", ["--tcp", "--client-tcp"])
def test_another_tcp_than_the_kernel_s_is_refused(live: Command, option: str) -> None:
    result = live("synthetic:A", option, "textbook")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith(f"loadstone: {option}: over the kernel TCP is this kernel's own: leave")


def test_who_may_not_load_live_is_told_why_in_one_line(
    loadstone: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment, "live_access", lambda: "no device: run as root")
    result = loadstone("load", "synthetic:A", "--live")
    assert (result.code, result.out, result.err) == (2, "", "loadstone: --live: no device: run as root\n")


@pytest.mark.parametrize(
    ("paused_ms", "said"),
    [
        (0.0, "the worst packet was 0.10 ms late"),
        (10.0, "0.10 ms late; the machine paused for 10.0 ms, left out of all times"),
        (40.0, "the machine paused for 40.0 ms, left out of all times, but TCP's own timers went on: do not"),
    ],
)
def test_long_pauses_make_a_load_doubtful(
    loadstone: Command, monkeypatch: pytest.MonkeyPatch, paused_ms: float, said: str
) -> None:
    # Simulated loads of 250 ms under a kernel's name; a twentieth of two is 25 ms.
    kernel = FakeKernel(paused_ms=paused_ms / 2)
    monkeypatch.setattr(experiment, "run_live", lambda scenario, seed, *_, **__: kernel(scenario, seed))
    monkeypatch.setattr(experiment, "live_access", lambda: None)
    chosen = ["synthetic:objects=1,size=100KB", *TLS_FREE.split(), "--runs", "2"]
    result = loadstone("load", "--live", *chosen)
    assert result.code == 0 and all(len(line) <= 100 for line in result.out.splitlines()[2:])
    last = result.out.rpartition("\n\n")[2]
    assert said in " ".join(last.split())
    assert ("do not rely" in result.out) == (paused_ms > 25)


# --- without being root ---


@pytest.fixture
def nobody(access: None) -> Callable[..., Result]:
    """Run the command as a user without privileges."""
    need_nobody()
    return lambda tun_mode, *arguments: as_nobody(tun_mode, [*LOADSTONE, *arguments])


def test_nobody_loads_live_where_the_device_is_open_to_all(nobody: Callable[..., Result]) -> None:
    run = _run(nobody("0666", "load", "synthetic:objects=3,size=20KB", "--live", *TLS_FREE.split(), "--json"))
    assert run["plt_ms"] > 100 and run["conditions"]["kernel"] == platform.release()


def test_nobody_is_told_what_to_do_where_the_device_is_closed(nobody: Callable[..., Result]) -> None:
    result = nobody("0600", "load", "synthetic:A", "--live")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith("loadstone: --live: /dev/net/tun may not be opened")
    assert result.err.endswith("'chmod 0666 /dev/net/tun'\n")


# --- what is left of it ---


def _namespaces(process: Path) -> set[str]:
    """Give the network namespaces that a process is in or holds."""
    found = set()
    for link in [*process.glob("task/*/ns/net"), *process.glob("fd/*")]:
        # Threads and processes come and go.
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith("net:["):
            found.add(target)
    return found


def _surroundings() -> list[str]:
    """Give the devices, addresses and routes of this namespace."""
    devices = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().split("\n")[2:]]
    files = [Path("/proc/net", name) for name in ("route", "fib_trie", "if_inet6")]
    return [*devices, *(file.read_text() for file in files if file.exists())]


def _session(leader: int) -> list[int]:
    """Give the processes of a session."""
    members = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(after_name[3]) == leader and after_name[0] != "Z":
            members.append(int(process.name))
    return members


class Underway:
    """An endless load that has been begun, in a session of its own."""

    def __init__(self, *arguments: str) -> None:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(
            [*LOADSTONE, *ENDLESS, *arguments], text=True, start_new_session=True, **pipes
        )

    def await_namespaces(self, number: int) -> set[str]:
        """Give the namespaces that it has made, when there are as many."""
        path, own = Path(f"/proc/{self.process.pid}"), _namespaces(Path("/proc/self"))
        end = time.monotonic() + PATIENCE
        while len(made := _namespaces(path) - own) < number:
            assert self.process.poll() is None and time.monotonic() < end
        return made

    def end(self) -> Result:
        out, err = self.process.communicate(timeout=PATIENCE)
        return Result(self.process.returncode, out, err)


@pytest.fixture
def underway(access: None) -> Iterator[Callable[..., Underway]]:
    """Begin endless loads; whatever happens, they end with the test."""
    begun: list[Underway] = []

    def begin(*arguments: str) -> Underway:
        begun.append(Underway(*arguments))
        return begun[-1]

    yield begin
    for one in begun:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


def test_nothing_is_left_of_a_load_that_is_killed(underway: Callable[..., Underway]) -> None:
    before = _surroundings()
    load = underway()
    made = load.await_namespaces(2)
    assert len(made) == 2, "the client and the server have one each"
    assert _surroundings() == before, "they do not show outside"
    load.process.kill()
    assert load.end().code == -signal.SIGKILL
    assert _session(load.process.pid) == []
    assert _surroundings() == before
    left = {process for process in Path("/proc").glob("[0-9]*") if _namespaces(process) & made}
    assert not left


@pytest.mark.parametrize("several", [[], ["--runs", "6", "--threads", "3"]])
def test_ctrl_c_ends_a_load_at_once(underway: Callable[..., Underway], several: list[str]) -> None:
    load = underway(*several)
    load.await_namespaces(6 if several else 2)
    load.process.send_signal(signal.SIGINT)
    result = load.end()
    assert (result.code, result.out, result.err) == (130, "", "loadstone: interrupted\n")


def test_loads_of_two_processes_do_not_disturb_one_another(live: Command) -> None:
    chosen = ["synthetic:objects=1,size=100KB", *TLS_FREE.split(), "--runs", "5", "--json"]
    alone = live(*chosen).document["median_plt_ms"]
    both = [
        subprocess.Popen([*LOADSTONE, "load", "--live", *chosen], text=True, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in both:
        out, _ = process.communicate(timeout=PATIENCE)
        assert json.loads(out)["median_plt_ms"] == pytest.approx(alone, rel=0.01)
