"""Inputs that would cost too much: one line says so before they do, or there is an answer."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import EXAMPLES, Command
from loadstone.stores.matrix import MOST_ROWS

MEMORY = 1 << 30
"""Bytes of address space: libraries take most of it, and each of these inputs took more alone."""
PATIENCE = 120

MATRIX = 'common.page = "synthetic:objects=2,size=1KB"\n'


def limited(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command with little memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    command = [sys.executable, "-m", "loadstone", *words]
    # Libraries that calculate reserve memory for each core.
    environment = {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, preexec_fn=limit, env=environment
    )


TOML: dict[str, tuple[Callable[[], str], str]] = {
    "lists": (lambda: "x = " + "[" * 100_000, "too deeply"),
    "tables": (lambda: "x = " + "{a = " * 100_000, "too deeply"),
    "key": (lambda: ".".join(["a"] * 100_000) + " = 1", "more than 32 parts"),
    "quoted key": (lambda: " . ".join(['"a.b"'] * 100_000) + " = 1", "more than 32 parts"),
    "header": (lambda: "[" + ".".join(["a"] * 100_000) + "]", "more than 32 parts"),
    "title": (lambda: 'title = "' + "a" * 50_000_000 + '"', "MiB"),
}


@pytest.mark.parametrize("verb", [["sweep", "--plan"], ["load", "--scenario"]], ids=lambda verb: verb[0])
@pytest.mark.parametrize("kind", TOML)
def test_toml_that_nobody_writes_is_refused(tmp_path: Path, kind: str, verb: list[str]) -> None:
    make, says = TOML[kind]
    path = tmp_path / "hostile.toml"
    path.write_text(make())
    done = limited(*verb, str(path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    assert says in done.stderr


def test_texts_may_have_dots_and_keys_32_parts(loadstone: Command, tmp_path: Path) -> None:
    path = tmp_path / "dots.toml"
    path.write_text(f'title = "{"." * 100}"\n{MATRIX}factors.iw = [3]\n')
    assert loadstone("sweep", path, "--plan", "--json").document["cells"] == 1
    path.write_text(".".join(["a"] * 32) + " = 1\n")
    assert "a: there is no such key" in loadstone("sweep", path, "--plan").err
    path.write_text(".".join(["a"] * 33) + " = 1\n")
    assert "more than 32 parts" in loadstone("sweep", path, "--plan").err


def test_a_plan_of_many_cells_keeps_none_of_them(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    iws, pages = range(1, 65), [f"synthetic:objects={n},size=1KB" for n in range(1, 500)]
    path.write_text(f"factors.page = {json.dumps(pages)}\nfactors.iw = {[*iws]}\n")
    done = limited("sweep", str(path), "--plan", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["cells"] == len(iws) * len(pages)


def test_the_extent_is_that_of_the_plan(loadstone: Command, tmp_path: Path) -> None:
    from loadstone.stores import Matrix
    from loadstone.stores.plan import Extent, Plan

    path = tmp_path / "small.toml"
    path.write_text(
        f'{MATRIX}factors.network = ["dsl", "dsl-lossy"]\nfactors.iw = [3, 10]\nwhere = "iw > 1"\n'
    )
    plan, extent = Plan.of(Matrix.read(str(path))), Extent.of(Matrix.read(str(path)))
    assert (extent.cells, extent.runs, extent.seconds) == (len(plan.cells), plan.runs, plan.seconds)
    path.write_text(path.read_text().replace("iw > 1", "iw > 99"))
    assert "no combination is so" in loadstone("sweep", path, "--plan").err


@pytest.mark.parametrize("rows", [MOST_ROWS + 1, 60_000_000])
def test_a_chunk_that_says_that_it_has_many_rows_is_not_read(
    loadstone: Command, tmp_path: Path, rows: int
) -> None:
    matrix = tmp_path / "m.toml"
    matrix.write_text(f"{MATRIX}factors.iw = [3, 10]\n")
    store = tmp_path / "store"
    assert loadstone("sweep", matrix, "-o", store).code == 0
    (chunk, *_) = sorted((store / "runs").glob("*.parquet"))
    schema = pq.read_schema(chunk)
    part = pa.table([pa.nulls(1_000_000, field.type) for field in schema], schema=schema)
    with pq.ParquetWriter(chunk, schema, compression="zstd") as writer:
        for begin in range(0, rows, len(part)):
            writer.write_table(part.slice(0, rows - begin))
    done = limited("analyze", str(store))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    assert "this chunk is damaged" in done.stderr


def _entries(path: Path, count: int) -> None:
    log = json.loads((EXAMPLES / "shop.har").read_text())["log"]
    entry = json.dumps({**log["entries"][3], "_initiator": {}})
    path.write_text(f'{{"log": {{"entries": [{",".join([entry] * count)}]}}}}')


@pytest.mark.parametrize("verb", [["page"], ["page", "--survey"], ["load"], ["serve"]], ids=" ".join)
def test_a_har_of_too_many_entries_is_refused(tmp_path: Path, verb: list[str]) -> None:
    path = tmp_path / "long.har"
    _entries(path, 80_000)
    done = limited(*verb, str(path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    assert "more than 20000 entries" in done.stderr


@pytest.mark.parametrize("verb", [["page"], ["page", "--survey"], ["load"]], ids=" ".join)
def test_halves_of_surrogate_pairs_are_read(loadstone: Command, tmp_path: Path, verb: list[str]) -> None:
    path = tmp_path / "half.har"
    text = (EXAMPLES / "shop.har").read_text()
    assert '"server"' in text
    path.write_text(
        text.replace("shop.example.test/", "shop.example.test/\\ud800").replace("example", "\\udc00", 3)
    )
    result = loadstone(*verb, path)
    assert (result.code, result.err) == (0, "")


def test_a_manifest_that_is_nested_too_deeply_is_refused(loadstone: Command, tmp_path: Path) -> None:
    path = tmp_path / "push.json"
    path.write_text("[" * 100_000)
    result = loadstone("serve", "--patterns", "--push-manifest", path)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
