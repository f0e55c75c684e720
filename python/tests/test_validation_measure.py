"""Taking a measure: what is kept, what is run again, and how much at once."""

import gzip
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from live import KERNEL, FakeKernel
from loadstone import Scenario, __version__
from loadstone.files import InputError
from loadstone.studies.validation import measurements
from loadstone.studies.validation.grid import OBJECT, Cell, Grid
from loadstone.studies.validation.measure import Measure, Pace, _ctrl_c
from loadstone.studies.validation.measurements import Measured


def cell(name: str = "1KB", cc: str = "cubic", loss: str = "") -> Cell:
    return Cell(OBJECT, name, f"10mbit,20ms{loss},queue=100ms", "http/1.1", 1, 10, cc)


GRID = Grid((cell("1KB"), cell("3KB"), cell("10KB", cc="reno"), cell("10KB", loss=",loss=1%")), repeats=2)
RUNS = 3 * 2 + 30


def take(
    path: Path,
    kernel: FakeKernel,
    grid: Grid = GRID,
    pace: Pace | None = None,
    minutes: float | None = None,
    clock: object = None,
) -> tuple[Measured, Measure, list[str]]:
    said: list[str] = []
    with measurements.journal(str(path)) as journal:
        measure = Measure(grid, journal, kernel, **({"clock": clock} if clock else {}))
        measure.take(pace or Pace(), minutes, lambda done, total: None, said.append)
    return measurements.read(str(path)), measure, said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "validation.csv"


def identities(measured: Measured) -> set[tuple[Cell, int]]:
    return {(one.cell, one.seed) for one in measured.measurements}


def test_every_run_is_a_line_that_says_what_the_outcome_said(path: Path) -> None:
    kernel = FakeKernel()
    measured, *_ = take(path, kernel)
    assert identities(measured) == set(GRID.runs()) and len(kernel.asked) == RUNS
    head, columns, *lines = path.read_text().splitlines()
    assert head == f"# loadstone {__version__} on Linux {KERNEL}"
    assert columns.startswith("kind,name,network,protocol,connections,iw,cc,seed,plt_ms,")
    assert len(lines) == RUNS
    read = measurements.read(str(path))
    assert read.source == measured.source and identities(read) == identities(measured)
    for one in read.measurements:
        outcome = FakeKernel()(one.cell.scenario(), one.seed)
        # Times are written to 0.1 us.
        assert abs(one.load.plt_ms - outcome.plt_ms) <= 0.00005
        counts = ("packets_down", "packets_up", "bytes_down", "bytes_up", "retransmissions", "completed")
        assert [getattr(one.load, name) for name in counts] == [getattr(outcome, name) for name in counts]
        assert one.conditions.late_worst_ms == 0.1


def test_a_compressed_file_is_read_but_not_added_to(path: Path) -> None:
    take(path, FakeKernel())
    packed = path.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert measurements.read(str(packed)) == measurements.read(str(path))
    with pytest.raises(InputError, match="decompress"), measurements.journal(str(packed)):
        pass


def test_what_is_there_is_not_run_again(path: Path) -> None:
    take(path, FakeKernel(), Grid(GRID.cells[:2], 2))
    kernel = FakeKernel()
    measured, *_ = take(path, kernel)
    assert len(kernel.asked) == RUNS - 4
    assert identities(measured) == set(GRID.runs())
    again = FakeKernel()
    take(path, again)
    assert again.asked == []


def test_a_torn_last_line_is_dropped_and_its_run_repeated(path: Path) -> None:
    take(path, FakeKernel())
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    for cut in (1, len(last) // 2, len(last) - 1):
        path.write_bytes(whole[:-cut])
        assert len(measurements.read(str(path)).measurements) == RUNS - 1
        kernel = FakeKernel()
        measured, *_ = take(path, kernel)
        assert len(kernel.asked) == 1
        assert identities(measured) == set(GRID.runs())
        assert path.read_bytes() == whole


def test_a_killed_measure_goes_on_where_it_was(path: Path) -> None:
    code = f"""
import os
import threading
from pathlib import Path
from live import FakeKernel
from test_validation_measure import take

class Stuck(FakeKernel):
    def __call__(self, scenario, seed):
        if len(self.asked) >= 20:
            os.write(1, b"stuck\\n")
            threading.Event().wait()
        return super().__call__(scenario, seed)

take(Path({str(path)!r}), Stuck())
"""
    here = Path(__file__).parent
    with subprocess.Popen([sys.executable, "-c", code], cwd=here, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"stuck\n"
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
    kept = identities(measurements.read(str(path)))
    kernel = FakeKernel()
    measured, *_ = take(path, kernel)
    assert identities(measured) == set(GRID.runs())
    assert 0 < len(kept) < RUNS and len(kernel.asked) == RUNS - len(kept)


def test_ctrl_c_keeps_what_is_done_and_what_is_under_way(path: Path) -> None:
    kernel = FakeKernel()

    def interrupt(scenario: Scenario, seed: int) -> None:
        if len(kernel.asked) == 7:
            signal.raise_signal(signal.SIGINT)

    kernel.refuses = interrupt
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        take(path, kernel)
    assert signal.getsignal(signal.SIGINT) is before
    kept = measurements.read(str(path)).measurements
    assert 7 <= len(kept) == len(kernel.asked) < RUNS


def test_a_file_of_something_else_is_left_alone(path: Path) -> None:
    for content in (b"my,own,figures\n1,2,3", b"no line at all"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="no file of measurements"):
            take(path, FakeKernel())
        assert path.read_bytes() == content


def test_a_damaged_line_is_named(path: Path) -> None:
    take(path, FakeKernel())
    lines = path.read_text().splitlines(keepends=True)
    lines[4] = lines[4].replace("http/1.1,1,", "http/1.1,one,")
    path.write_text("".join(lines))
    with pytest.raises(InputError, match="line 5 is damaged"):
        measurements.read(str(path))


def test_one_file_holds_one_kernel_and_one_version(path: Path) -> None:
    take(path, FakeKernel(), Grid(GRID.cells[:1], 2))
    with pytest.raises(InputError, match=f"measured by loadstone {__version__} on Linux {KERNEL}"):
        take(path, FakeKernel(kernel="7.0"))
    assert len(measurements.read(str(path)).measurements) == 2
    path.write_text(path.read_text().replace(f"# loadstone {__version__}", "# loadstone 0.0.1"))
    with pytest.raises(InputError, match=r"measured by loadstone 0\.0\.1"):
        take(path, FakeKernel())


def test_two_measures_do_not_write_one_file(path: Path) -> None:
    with (
        measurements.journal(str(path)),
        pytest.raises(InputError, match="another"),
        measurements.journal(str(path)),
    ):
        pass


def test_what_the_engine_or_the_kernel_refuses_is_left_out_and_the_rest_goes_on(path: Path) -> None:
    unknown = Cell(OBJECT, "1KB", "10mbit,20ms,queue=100ms", "http/1.1", 1, 10, "vegas")
    kernel = FakeKernel()
    kernel.refuses = lambda scenario, seed: (
        ("Reno is not there", "variant.tcp.cc")
        if '"cc":"reno"' in scenario.to_json().split("client")[0]
        else None
    )
    measured, measure, _ = take(path, kernel, Grid((*GRID.cells, unknown), 2), Pace(most=1))
    assert {one.cell for one in measured.measurements} == {one for one in GRID.cells if one.cc == "cubic"}
    # The cell is asked for once, and its other run left out with it.
    assert measure.left_out["Reno is not there"] == 2
    assert sum("reno" in asked.split("client")[0] for asked, _ in kernel.asked) == 1
    (other,) = set(measure.left_out) - {"Reno is not there"}
    assert "vegas" in other and measure.left_out[other] == 2


def test_five_failures_in_a_row_end_a_measure_and_four_do_not(path: Path) -> None:
    cells = tuple(cell(f"{size}KB") for size in range(1, 12))

    def failing(numbers: set[int]) -> FakeKernel:
        kernel = FakeKernel()
        kernel.refuses = lambda scenario, seed: (
            ("no descriptors", "") if len(kernel.asked) in numbers else None
        )
        return kernel

    measured, measure, _ = take(path, failing({1, 2, 3, 4, 6, 7, 8, 9}), Grid(cells, 1), Pace(most=1))
    assert len(measured.measurements) == 3 and measure.left_out == {"no descriptors": 8}
    with pytest.raises(InputError, match="5 live loads failed one after the other: no descriptors"):
        take(path.with_name("other.csv"), failing({2, 3, 4, 5, 6}), Grid(cells, 1), Pace(most=1))


def test_cells_that_the_kernel_cannot_run_are_no_failures_of_the_bed(path: Path) -> None:
    kernel = FakeKernel()
    kernel.refuses = lambda scenario, seed: ("no bbr", "variant.tcp.cc") if len(kernel.asked) <= 7 else None
    cells = tuple(cell(f"{size}KB") for size in range(1, 12))
    measured, measure, _ = take(path, kernel, Grid(cells, 1), Pace(most=1))
    assert (len(measured.measurements), measure.left_out) == (4, {"no bbr": 7})


def test_the_second_ctrl_c_is_an_ordinary_one() -> None:
    calls: list[str] = []
    with pytest.raises(KeyboardInterrupt), _ctrl_c(lambda: calls.append("stop")) as is_stopped:
        assert not is_stopped()
        signal.raise_signal(signal.SIGINT)
        assert is_stopped() and calls == ["stop"]
        signal.raise_signal(signal.SIGINT)
    assert calls == ["stop"]


def test_after_the_minutes_no_load_is_started(path: Path) -> None:
    kernel = FakeKernel()
    # Every look at the clock is six seconds later; the first begins the minute.
    ticks = iter(range(0, 6_000, 6))
    measured, measure, _ = take(path, kernel, pace=Pace(most=1), minutes=1, clock=lambda: next(ticks))
    assert len(measured.measurements) == 9
    assert measure.remaining == RUNS - 9


def test_no_more_run_at_once_than_the_pace_allows(path: Path) -> None:
    kernel = FakeKernel(late_worst_ms=0.1)
    pace = Pace(most=3)
    take(path, kernel, Grid(tuple(cell(f"{size}KB") for size in range(1, 60)), 2), pace)
    assert pace.at_once == 3
    assert kernel.most_at_once <= 3


def paced(pace: Pace, shares: list[float]) -> int:
    for share in shares:
        pace.note(share)
    return pace.at_once


def test_pace_follows_nine_in_ten_of_the_last_forty() -> None:
    # In order, a tenth of the way from the 36th to the 37th counts: four of 40 do, three do not.
    assert Pace().at_once == 6
    assert paced(Pace(), [2.0] * 37 + [9.0] * 3) == 6
    assert paced(Pace(), [2.0] * 36 + [19.0] * 4) == 5
    assert paced(Pace(), [0.1] * 39) == 6
    assert paced(Pace(), [0.1] * 40) == 7
    assert [paced(Pace(), [share] * 40) for share in (0.99, 1.01, 2.99, 3.01)] == [7, 6, 6, 5]


def test_pace_waits_after_a_change_and_stays_within_its_bounds() -> None:
    assert paced(Pace(), [5.0] * 79) == 5
    assert paced(Pace(), [5.0] * 80) == 4
    assert paced(Pace(), [0.1] * 1_000) == 8
    assert paced(Pace(), [5.0] * 1_000) == 1
    assert paced(Pace(most=2), [0.1] * 1_000) == 2
    assert Pace(most=1).at_once == 1
