"""Stores: what is finished stays, whatever happens to the sweep, the disk or the files."""

import json
import random
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from conftest import EXAMPLES, Command, leave_out
from loadstone.analysis.gains import measure
from loadstone.files import InputError
from loadstone.stores import Matrix, Store, collect, rows, sweep
from loadstone.stores import plan as planning
from loadstone.stores.rows import ACCOUNT

LONG = """
runs = 100
[factors]
objects = [10, 40, 160]
size = ["5KB", "40KB"]
loss = [0, 1, 2]
rtt = [20, 50, 100, 200]
protocol = ["http/1.1", "h2"]
[common]
page = "synthetic:objects={objects},size={size}"
network = "10/1mbit,{rtt}ms,loss={loss}%"
"""
SMALL = Matrix(
    factors={"loss": [0, 1], "protocol": ["http/1.1", "spdy/3.1"]},
    common={"page": "synthetic:objects=6,size=9KB", "network": "4/1mbit,60ms,loss={loss}%"},
    runs=5,
)


@pytest.fixture(autouse=True)
def many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let chunks be a load or two, so that there are some."""
    monkeypatch.setattr(planning, "CHUNK_SECONDS", 1e-4)


def content(folder: Path) -> dict[str, bytes]:
    """Give all that is in a folder, hidden files too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def chunks(folder: Path) -> list[Path]:
    return sorted((folder / "runs").glob("*.parquet"))


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "loadstone", "sweep", *map(str, arguments)]


# --- sweeps that are killed ---


def test_a_sweep_killed_ten_times_ends_as_one_that_was_not(tmp_path: Path) -> None:
    matrix, whole, killed = tmp_path / "long.toml", tmp_path / "whole", tmp_path / "killed"
    matrix.write_text(LONG)
    subprocess.run(command(matrix, "-o", whole), check=True, stdout=subprocess.DEVNULL)
    moments, kills, found = random.Random(7), 0, set()
    while kills < 10:
        with subprocess.Popen(command(matrix, "-o", killed), stdout=subprocess.DEVNULL) as process:
            try:
                assert process.wait(moments.uniform(0.4, 1.3)) == 0
                # It was complete: once more from a part of it.
                for path in moments.sample(sorted((killed / "runs").iterdir()), 6):
                    path.unlink()
                found.clear()
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                kills += 1
        there = {name for name in content(killed) if name.endswith(".parquet") and ".part" not in name}
        assert found <= there, "what was finished stays"
        found = there
    subprocess.run(command(matrix, "-o", killed), check=True, stdout=subprocess.DEVNULL)
    assert content(killed) == content(whole)
    runs = Store.open(killed).runs()
    assert runs.height == len(set(runs.select("cell", "seed").iter_rows())) == 24 * 2 * (1 + 100 + 100)


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    matrix = tmp_path / "long.toml"
    matrix.write_text(LONG)
    line = [*command(matrix, "-o", tmp_path / "s")]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while not list(tmp_path.glob("s/runs/*.parquet")):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert (process.wait(20), process.stderr.read()) == (130, "loadstone: interrupted\n")
    assert Store.open(tmp_path / "s").runs().height > 0


def test_two_sweeps_into_one_folder_write_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        swept = list(pool.map(lambda _: sweep(SMALL, tmp_path / "s", threads=2), range(4)))
    assert {each.runs for each in swept} == {12}
    sweep(SMALL, tmp_path / "alone")
    assert content(tmp_path / "s") == content(tmp_path / "alone")


def test_threads_and_order_change_no_byte(tmp_path: Path) -> None:
    for threads in (1, 2, 5):
        sweep(SMALL, tmp_path / str(threads), threads=threads)
    assert content(tmp_path / "1") == content(tmp_path / "2") == content(tmp_path / "5")


# --- disks and files ---


def test_a_full_disk_is_said_and_the_finished_chunks_are_kept(tmp_path: Path) -> None:
    matrix, disk = tmp_path / "long.toml", tmp_path / "disk"
    matrix.write_text(LONG)
    disk.mkdir()
    sweep_there = " ".join(command(matrix, "-o", disk / "s"))
    # There is room for any one chunk (the largest has 70 KB), whichever is done first, but not for all.
    script = f"""
        mount -t tmpfs -o size=100k none {disk} || exit 77
        {sweep_there} 2>{tmp_path}/err; echo $? >{tmp_path}/code; cp -r {disk}/s {tmp_path}/kept
        mount -o remount,size=9m {disk} && {sweep_there} && cp -r {disk}/s {tmp_path}/after
    """
    alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    done = subprocess.run(alone, capture_output=True, text=True, check=False)
    if done.returncode in (1, 77) and not (tmp_path / "code").exists():
        leave_out(f"no disk of one's own can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "code").read_text() == "2\n"
    error = (tmp_path / "err").read_text()
    assert "cannot be written (no space left on device): the finished chunks are kept" in error
    kept = content(tmp_path / "kept")
    assert any(name.endswith(".parquet") for name in kept)
    assert not any(name.endswith(".part") for name in kept)
    subprocess.run(command(matrix, "-o", tmp_path / "whole"), check=True, stdout=subprocess.DEVNULL)
    whole = content(tmp_path / "whole")
    assert content(tmp_path / "after") == whole
    assert kept.items() <= whole.items()


def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        sweep(SMALL, tmp_path / "file" / "s")
    sweep(SMALL, tmp_path / "s")
    chunks(tmp_path / "s")[0].unlink()
    script = f"mount --bind -o ro {tmp_path}/s {tmp_path}/s || exit 77; exec {sys.executable} - <<'E'\n" + (
        "from loadstone.stores import Matrix, sweep\nfrom loadstone.files import InputError\n"
        f"matrix = Matrix.of({SMALL.document()!r})\n"
        f"try: sweep(matrix, {str(tmp_path / 's')!r})\nexcept InputError as error: print(error)\nE\n"
    )
    alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    done = subprocess.run(alone, capture_output=True, text=True, check=False)
    if done.returncode in (1, 77) and not done.stdout:
        leave_out(f"nothing can be mounted here: {done.stderr.strip()}")
    assert "cannot be written" in done.stdout, done.stderr


def test_a_damaged_chunk_is_named_wherever_it_is_damaged(tmp_path: Path) -> None:
    sweep(SMALL, tmp_path / "s")
    path = chunks(tmp_path / "s")[1]
    sound, table = path.read_bytes(), Store.open(tmp_path / "s").runs()
    noticed = 0
    for at in range(0, len(sound), 7):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 0x55]) + sound[at + 1 :])
        try:
            assert_frame_equal(Store.open(tmp_path / "s").runs(), table)
        except InputError as error:
            assert str(path) in str(error)
            noticed += 1
    assert noticed > len(sound) / 7 / 4
    for cut in (0, 1, 10, len(sound) // 2, len(sound) - 1):
        path.write_bytes(sound[:cut])
        with pytest.raises(InputError, match="this chunk is damaged: remove it"):
            sweep(SMALL, tmp_path / "s")
    path.unlink()
    sweep(SMALL, tmp_path / "s")
    assert path.read_bytes() == sound


def test_loads_that_are_not_completed_are_no_damage(tmp_path: Path) -> None:
    # Half of them give up, and with them go the times.
    hopeless = Matrix(
        factors={"protocol": ["http/1.1", "h2"]},
        common={"page": "synthetic:B", "network": "10/1mbit,100ms,39%"},
        runs=84,
    )
    runs = sweep(hopeless, tmp_path / "s").store.runs()
    given_up = runs.filter(~pl.col("completed"))
    assert 0 < given_up.height < runs.height
    assert given_up["plt_ms"].null_count() == given_up["transfer_ms"].null_count() == given_up.height
    assert_frame_equal(Store.open(tmp_path / "s").runs(), runs)
    assert sweep(hopeless, tmp_path / "s").ran == 0


def test_a_damaged_matrix_is_named(tmp_path: Path) -> None:
    sweep(SMALL, tmp_path / "s")
    for damage in ("", "{}", "[]", '{"format": 2', '{"format": 1}', '{"format": 2, "matrix": 3}'):
        (tmp_path / "s" / "matrix.json").write_text(damage)
        with pytest.raises(InputError, match=r"matrix\.json"):
            Store.open(tmp_path / "s")


def test_a_folder_without_a_store_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no store here"):
        Store.open(tmp_path)


# --- matrices that change ---


def changed(**fields: object) -> Matrix:
    return Matrix.of({**SMALL.document(), **fields})


def test_a_changed_matrix_is_refused_with_what_changed(tmp_path: Path) -> None:
    sweep(SMALL, tmp_path / "s")
    factors = {"loss": [0, 1, 2], "protocol": ["http/1.1", "spdy/3.1"]}
    common = {**SMALL.common, "network": "4/1mbit,61ms,loss={loss}%"}
    for other, said in [
        (changed(runs=6), "runs: 5 there, 6 here"),
        (changed(factors=factors), r"factors.loss: \[2\] new"),
        (changed(common=common), 'common.network: "4/1mbit,60ms'),
    ]:
        with pytest.raises(InputError, match=said):
            sweep(other, tmp_path / "s")
    # What is asked of it may change.
    sweep(changed(title="Other words", analysis={"baseline": "spdy/3.1"}), tmp_path / "s")
    assert Store.open(tmp_path / "s").question().baseline == "spdy/3.1"


def test_an_extended_store_has_the_old_runs_and_the_new(tmp_path: Path) -> None:
    first = sweep(SMALL, tmp_path / "s").store.runs()
    wider = changed(runs=8, factors={"loss": [0, 1, 3], "protocol": ["http/1.1", "spdy/3.1", "h2"]})
    before = {path.name for path in chunks(tmp_path / "s")}
    swept = sweep(wider, tmp_path / "s", extend=True)
    assert (swept.runs, swept.ran) == (3 * (1 + 8 + 8), 3 * (1 + 8 + 8) - 12)
    extended = swept.store.runs()
    sweep(wider, tmp_path / "anew")
    assert_frame_equal(extended, Store.open(tmp_path / "anew").runs())
    both = extended.join(first, on=["cell", "seed"], how="inner")
    assert both.height == first.height and (both["plt_ms"] == both["plt_ms_right"]).all()
    # Going on after a kill gives the same bytes as going on at once.
    whole = content(tmp_path / "s")
    new = [path for path in chunks(tmp_path / "s") if path.name not in before]
    for path in new[::2]:
        path.unlink()
    sweep(wider, tmp_path / "s")
    assert content(tmp_path / "s") == whole


def test_a_store_is_not_extended_by_what_does_not_fit_it(tmp_path: Path) -> None:
    page = tmp_path / "a.page.json"
    page.write_text('{"objects": [{"url": "https://a.test/", "bytes": 9000}]}')
    paged = Matrix(
        factors={"page": ["a.page.json"], "protocol": ["h2", "spdy/3"]},
        common={"network": "dsl"},
        folder=tmp_path,
    )
    sweep(paged, tmp_path / "p")
    page.write_text('{"objects": [{"url": "https://a.test/", "bytes": 9001}]}')
    with pytest.raises(InputError, match=r"a\.page\.json: the page is not what it was"):
        sweep(paged, tmp_path / "p")
    with pytest.raises(InputError, match=r"a\.page\.json: this page is not what it was"):
        sweep(paged, tmp_path / "p", extend=True)
    sweep(SMALL, tmp_path / "s")
    texts = {"loss": ["0", "1", "2"], "protocol": ["http/1.1", "spdy/3.1"]}
    with pytest.raises(InputError, match="loss: the store has levels of another kind"):
        sweep(changed(factors=texts), tmp_path / "s", extend=True)
    with pytest.raises(InputError, match="not by factors"):
        sweep(changed(factors={**SMALL.factors, "iw": [3]}), tmp_path / "s", extend=True)
    with pytest.raises(InputError, match="was run with other settings"):
        sweep(changed(common={**SMALL.common, "tls": "1.3"}), tmp_path / "s", extend=True)


def test_what_is_missing_is_what_is_planned_less_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Chunks of another size, as another version would make them: nothing is lost, and nothing double.
    sweep(SMALL, tmp_path / "s")
    for path in chunks(tmp_path / "s")[::3]:
        path.unlink()
    lost = 12 - Store.open(tmp_path / "s").runs().height
    assert lost > 0 and Store.open(tmp_path / "s").state() != "complete"
    monkeypatch.setattr(planning, "CHUNK_SECONDS", 1.0)
    assert sweep(SMALL, tmp_path / "s").ran == lost
    assert_frame_equal(Store.open(tmp_path / "s").runs(), collect(SMALL))
    assert Store.open(tmp_path / "s").state() == "complete"


def test_an_extended_store_heals(tmp_path: Path) -> None:
    sweep(SMALL, tmp_path / "s")
    wider = changed(runs=9)
    sweep(wider, tmp_path / "s", extend=True)
    for path in chunks(tmp_path / "s")[:3]:
        path.unlink()
    assert sweep(wider, tmp_path / "s").ran > 0
    assert_frame_equal(Store.open(tmp_path / "s").runs(), collect(wider))


def test_a_sweep_ends_when_its_store_is_extended_meanwhile(tmp_path: Path) -> None:
    wider, at = changed(runs=9), []

    def extend(done: int, total: int) -> None:
        if done and not at:
            at.append(done)
            sweep(wider, tmp_path / "s", extend=True)

    with pytest.raises(InputError, match="this store was extended meanwhile"):
        sweep(SMALL, tmp_path / "s", threads=1, progress=extend)
    assert_frame_equal(Store.open(tmp_path / "s").runs(), collect(wider))
    asked = f"select count(*) from '{tmp_path}/s/runs/*.parquet'"
    assert duckdb.sql(asked).fetchall() == [(2 + 2 * 9,)], "nothing is double for those who read the files"


def test_cells_without_chance_are_run_once_whatever_the_seed(tmp_path: Path) -> None:
    sweep(SMALL, tmp_path / "s")
    sweep(changed(seed=10), tmp_path / "s", extend=True)
    runs = Store.open(tmp_path / "s").runs()
    assert runs.filter(~pl.col("is_random")).height == 2
    assert runs.filter("is_random")["seed"].unique().sort().to_list() == [1, 2, 3, 4, 5, 10, 11, 12, 13, 14]


def test_what_is_asked_may_change_but_not_what_stops_runs(tmp_path: Path) -> None:
    sweep(SMALL, tmp_path / "s")
    assert sweep(changed(analysis={"compare": "loss"}), tmp_path / "s").ran == 0
    sweep(KNOWN, tmp_path / "k")
    other = Matrix.of({**KNOWN.document(), "analysis": {"baseline": "spdy/3.1"}})
    with pytest.raises(InputError, match="what is compared"):
        sweep(other, tmp_path / "k")


# --- runs until gains are known ---

LOSSY = {"loss": [0, 4], "protocol": ["http/1.1", "spdy/3.1"]}
KNOWN = Matrix.of({**SMALL.document(), "factors": LOSSY, "until": "30%", "runs": 400})


def test_runs_go_on_until_every_gain_is_known(tmp_path: Path) -> None:
    swept = sweep(KNOWN, tmp_path / "s")
    runs = swept.store.runs()
    counts = dict(runs.group_by("loss").agg(pl.len() / 2).iter_rows())
    assert counts[0] == 1
    assert counts[4] in {21, 42, 84, 168, 336}
    assert swept.runs == swept.ran == runs.height
    gains = measure(runs, swept.store.question()).frame
    half_widths = (gains["high"] - gains["low"]) / (2 * gains["gain"])
    assert half_widths.drop_nulls().max() <= 0.3
    # Better known takes more runs, and never more than the most.
    better = sweep(replace(KNOWN, until="8%"), tmp_path / "better").store.runs()
    assert runs.height < better.height
    most = sweep(replace(KNOWN, until="0.01%", runs=50), tmp_path / "most").store.runs()
    assert most.height == 2 + 2 * 50


def test_how_many_runs_there_are_depends_on_nothing_else(tmp_path: Path) -> None:
    for threads in (1, 3):
        sweep(KNOWN, tmp_path / str(threads), threads=threads)
    assert content(tmp_path / "1") == content(tmp_path / "3")
    again = sweep(KNOWN, tmp_path / "1")
    assert (again.ran, again.runs) == (0, len(again.store.runs()))


def test_such_a_store_is_extended_by_whole_conditions(tmp_path: Path) -> None:
    sweep(KNOWN, tmp_path / "s")
    factors = {"loss": [0, 4, 5], "protocol": ["http/1.1", "spdy/3.1"]}
    wider = Matrix.of({**KNOWN.document(), "factors": factors})
    sweep(wider, tmp_path / "s", extend=True)
    sweep(wider, tmp_path / "anew")
    assert_frame_equal(Store.open(tmp_path / "s").runs(), Store.open(tmp_path / "anew").runs())
    more = {**factors, "protocol": [*factors["protocol"], "h2"]}
    with pytest.raises(InputError, match="a condition would get levels in addition to those that were run"):
        sweep(Matrix.of({**KNOWN.document(), "factors": more}), tmp_path / "s", extend=True)
    with pytest.raises(InputError, match="until"):
        sweep(replace(wider, until="5%"), tmp_path / "s", extend=True)


# --- reading ---


def test_a_store_opens_by_polars_pandas_and_duckdb(tmp_path: Path) -> None:
    store = sweep(SMALL, tmp_path / "s").store
    frame = store.runs()
    assert frame.columns[:6] == ["loss", "protocol", "cell", "is_random", "seed", "completed"]
    assert frame["protocol"].to_list()[:2] == ["http/1.1", "spdy/3.1"]
    assert store.pandas()["plt_ms"].to_list() == frame["plt_ms"].to_list()
    asked = f"select protocol, median(plt_ms) from '{tmp_path}/s/runs/*.parquet' group by all order by all"
    medians = duckdb.sql(asked).fetchall()
    ours = frame.group_by("protocol").agg(pl.col("plt_ms").median()).sort("protocol")
    assert medians == list(ours.iter_rows())
    parts = frame.select(ACCOUNT.values())
    assert ((parts.sum_horizontal() - frame["plt_ms"]).abs() < 1e-3).all()
    # TCP's and TLS's handshakes take a round trip each at least.
    assert ((frame["first_request_ms"] >= 120) & (frame["first_request_ms"] < frame["plt_ms"])).all()


def test_a_store_of_before_a_column_opens_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = rows.COLUMNS
    monkeypatch.setattr(rows, "COLUMNS", {name: now[name] for name in now if name != "first_request_ms"})
    before = sweep(replace(SMALL, runs=2), tmp_path / "s").store.runs()
    monkeypatch.setattr(rows, "COLUMNS", now)
    after = sweep(SMALL, tmp_path / "s", extend=True).store.runs()
    assert set(after.columns) - set(before.columns) == {"first_request_ms"}
    known = after["first_request_ms"].is_not_null()
    assert known.sum() == after.height - before.height
    assert_frame_equal(after.filter(~known).drop("first_request_ms"), before, check_row_order=False)


def test_what_is_only_collected_is_what_a_store_has(tmp_path: Path) -> None:
    for matrix in (SMALL, KNOWN):
        kept = sweep(matrix, tmp_path / str(matrix.until)).store.runs()
        assert_frame_equal(collect(matrix, threads=3), kept, check_row_order=False)


def test_the_command_says_what_it_did(tmp_path: Path, loadstone: Command) -> None:
    shutil.copy(EXAMPLES / "shop.har", tmp_path)
    text = 'factors.iw = [3, 10]\ncommon = { page = "shop.har", network = "dsl" }\n'
    (tmp_path / "m.toml").write_text(text)
    planned = loadstone("sweep", tmp_path / "m.toml", "--plan", "--json").document
    assert (planned["cells"], planned["runs"]) == (2, 2)
    done = loadstone("sweep", tmp_path / "m.toml", "-o", tmp_path / "s", "--json").document
    assert done == {"folder": str(tmp_path / "s"), "cells": 2, "runs": 2, "chunks": 2, "runs_now": 2}
    again = loadstone("sweep", tmp_path / "m.toml", "-o", tmp_path / "s")
    assert again.out.startswith(f"{tmp_path}/s: 2 runs of 2 cells, 2 of them there before")
    assert loadstone("sweep", tmp_path / "m.toml").code == 2
    assert (
        loadstone("sweep", tmp_path / "m.toml", "-o", tmp_path / "s", "--dask", "x:1", "--threads", "2").code
        == 2
    )
    assert json.loads((tmp_path / "s" / "matrix.json").read_text())["matrix"]["factors"] == {"iw": [3, 10]}
