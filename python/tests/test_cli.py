"""The command line as a user and a script meet it."""

import io
import json
import os
import signal
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import EXAMPLES, ROOT, Command, Result
from loadstone import LoadstoneError, Scenario, networks, protocols
from loadstone.experiment import OPTIONS, RUNS_OF_RANDOM

RUN_FIELDS = [
    "seed", "plt_ms", "first_request_ms", "first_byte_ms", "dom_content_loaded_ms",
    "first_contentful_paint_ms", "largest_contentful_paint_ms", "speed_index_ms",
    "bytes_down", "bytes_up", "bytes_pushed", "bytes_prefetched", "bytes_wasted",
    "packets_down", "packets_up", "retransmissions", "fast_retransmissions", "tail_loss_probes", "timeouts",
    "connections", "completed", "account",
    "round_trips", "idle_share", "connections_at_once", "requests_per_connection", "packet_bytes_down",
    "packet_bytes_up", "packets_per_second_down", "packets_per_second_up",
]  # fmt: skip


def test_load_prints_the_stable_document(loadstone: Command, small: str) -> None:
    result = loadstone(
        "load", small, "--json", "--network", "10/1mbit,100ms,1%", "--runs", "3", "--seed", "7"
    )
    assert (result.code, result.err) == (0, "")
    document = result.document
    assert list(document) == ["page", "network", "variant", "spread", "runs", "median_plt_ms"]
    assert document["page"] == Path(small).name
    assert document["network"] == json.loads(_scenario(network="dsl-lossy").to_json())["network"]
    assert document["variant"] == json.loads(_scenario(variant={"tls": "1.3"}).to_json())["variant"]
    assert document["spread"] == {"network": 1, "times": 10}
    assert [list(run) for run in document["runs"]] == [RUN_FIELDS] * 3
    assert [run["seed"] for run in document["runs"]] == [7, 8, 9]
    assert document["median_plt_ms"] == sorted(run["plt_ms"] for run in document["runs"])[1]


@pytest.mark.parametrize(("tls", "round_trips"), [("none", 1), ("1.3", 2), ("1.2", 3)])
def test_the_clock_of_a_study_may_start_with_the_first_request(
    loadstone: Command, small: str, tls: str, round_trips: int
) -> None:
    options = ("--json", "--exact", "--runs", "1", "--network", "1000mbit,100ms", "--tls", tls)
    (run,) = loadstone("load", small, *options).document["runs"]
    assert run["first_request_ms"] == pytest.approx(100 * round_trips, abs=1)
    assert run["first_request_ms"] < run["plt_ms"]


def test_every_option_arrives_in_the_scenario(loadstone: Command, small: str) -> None:
    options = (
        "--network 3g --protocol h2 --tls 1.2 --servers 2 --connections 4 --iw 3 --cc reno "
        "--policy round-robin --frame-bytes 4096 --notsent-lowat 65536 --client-iw 4 "
        "--push all --hint embedded --preconnect hosts --hint-by link --max-streams 60 "
        "--requests-per-connection 9 --client-cc reno --tcp textbook --seed 5 --threads 1 "
        "--connections-in-all 16 --request-order first-come-first-served --names looked-up "
        "--receive-window 70000 --client-receive-window 80000 "
        "--sharding one --priorities dependencies --push-levels 2"
    )
    document = loadstone("load", small, "--json", *options.split()).document
    assert document["variant"] == {
        "protocol": "h2",
        "tls": "1.2",
        "servers": 2,
        "connections": 4,
        "connections_in_all": 16,
        "requests_per_connection": 9,
        "names": "looked-up",
        "multiplexing": {
            "policy": "round-robin",
            "request_order": "first-come-first-served",
            "frame_bytes": 4096,
            "stream_window": 6 * 2**20,
            "session_window": 15 * 2**20,
            "streams": 60,
        },
        "sharding": "one",
        "priorities": "dependencies",
        "foresight": {
            "push": "all",
            "push_levels": 2,
            "hint": "embedded",
            "preconnect": "hosts",
            "hint_by": "link",
        },
        "tcp": {
            "profile": "textbook",
            "iw": 3,
            "cc": "reno",
            "notsent_lowat": 65536,
            "receive_window": 70000,
            "flows": None,
        },
        "client_tcp": {
            "profile": "textbook",
            "iw": 4,
            "cc": "reno",
            "notsent_lowat": None,
            "receive_window": 80000,
            "flows": None,
        },
    }
    assert document["network"] == json.loads(_scenario(network="3g").to_json())["network"]
    assert document["runs"][0]["seed"] == 5


def test_the_number_of_runs_follows_what_varies(loadstone: Command, small: str) -> None:
    def runs(*options: str) -> int:
        return len(loadstone("load", small, "--json", *options).document["runs"])

    assert runs() == RUNS_OF_RANDOM
    assert runs("--exact") == 1
    assert runs("--exact", "--network", "dsl-lossy") == RUNS_OF_RANDOM
    assert runs("--spread", "0", "--spread-times", "0") == 1


def test_a_slower_link_and_a_smaller_window_load_more_slowly(loadstone: Command) -> None:
    def median(*options: str) -> float:
        return loadstone("load", "synthetic:B", "--json", *options).document["median_plt_ms"]

    assert median("--network", "cable") < median("--network", "dsl") < median("--network", "3g")
    # Where nothing queues, a larger window saves round trips; on a narrow link it may overflow the queue.
    wide = ("--network", "1000mbit,100ms")
    assert median(*wide, "--iw", "10") < median(*wide, "--iw", "1")


def test_load_in_words_says_time_and_variant(loadstone: Command, small: str) -> None:
    result = loadstone("load", small, "--network", "dsl-lossy", "--runs", "5")
    assert result.code == 0
    for expected in ("page load time", "http/1.1", "IW 10", "cubic", "seeds 1-5", "median"):
        assert expected in result.out


def test_load_in_words_says_how_long_connections_last(loadstone: Command, small: str) -> None:
    few = ("--servers", "2", "--requests-per-connection")
    servers = "dealt over 2 servers, 6 connections per host"
    assert f"{servers}, 9 requests per connection, servers:" in loadstone("load", small, *few, "9").out
    assert f"{servers}, 1 request per connection, servers:" in loadstone("load", small, *few, "1").out
    assert "per connection" not in loadstone("load", small).out


def test_the_waterfall_has_a_row_for_each_object(loadstone: Command, small: str) -> None:
    result = loadstone("load", small, "--waterfall")
    rows = [line for line in result.out.splitlines() if "a.test/" in line or "b.test/" in line]
    assert len([row for row in rows if "small.page.json" not in row]) == 5
    assert all(len(line) <= 100 for line in result.out.splitlines() if "small.page.json" not in line)


def test_the_waterfall_in_the_document_is_in_order(loadstone: Command, small: str) -> None:
    waterfall = loadstone("load", small, "--waterfall", "--json").document["runs"][0]["waterfall"]
    assert waterfall["name"][0] == "https://a.test/"
    assert len({len(column) for column in waterfall.values()}) == 1
    marks = zip(
        *(waterfall[f"{mark}_ms"] for mark in ("found", "sent", "first_byte", "last_byte")), strict=True
    )
    for times in marks:
        assert list(times) == sorted(times)


@pytest.mark.parametrize("form", ["json", "toml"])
def test_a_scenario_file_says_everything(loadstone: Command, small: str, tmp_path: Path, form: str) -> None:
    options = ["--network", "cable", "--iw", "3", "--seed", "4", "--exact"]
    direct = loadstone("load", small, "--json", *options).document
    page = json.loads(Path(small).read_text())
    path = tmp_path / f"first.{form}"
    if form == "json":
        fields = {"page": page, "network": "cable", "seed": 4, "variant": {"tls": "1.3", "tcp": {"iw": 3}}}
        path.write_text(json.dumps(fields))
    else:
        objects = [f'[[page.objects]]\nurl = "{o["url"]}"\nbytes = {o["bytes"]}\n' for o in page["objects"]]
        path.write_text(
            'network = "cable"\nseed = 4\nvariant = {tls = "1.3", tcp.iw = 3}\n' + "".join(objects)
        )
    assert loadstone("load", "--scenario", str(path), "--json").document == {**direct, "page": path.name}


def test_page_tells_what_it_is(loadstone: Command) -> None:
    result = loadstone("page", str(EXAMPLES / "shop.har"), "--json")
    har = json.loads((EXAMPLES / "shop.har").read_text())
    urls = [entry["request"]["url"] for entry in har["log"]["entries"]]
    assert result.document["objects"] == len(urls)
    assert result.document["hosts"] == len({url.split("/")[2] for url in urls})
    assert result.document["notes"]["entries"] == len(urls)
    words = loadstone("page", str(EXAMPLES / "shop.har")).out
    for expected in ("objects", "hosts", "longest chain", "page 1 of 1", "image"):
        assert expected in words


BAD_PAGES = {
    "missing": (None, "there is no such file"),
    "empty": (b"", "empty"),
    "blank": (b" \n ", "empty"),
    "random": (bytes(range(128, 256)) * 40, "neither a HAR nor a page file"),
    "truncated": (b'{"log": {"entries": [{"request": {', "cut off"),
    "truncated gzip": ((b"\x1f\x8b\x08\x00" + bytes(6) + b"\x4b"), "cut short"),
    "damaged gzip": (b"\x1f\x8b" + b"nonsense" * 9, "damaged"),
    "damaged zstd": (b"\x28\xb5\x2f\xfd" + b"nonsense" * 9, "damaged"),
    "no entries": (b'{"log": {"version": "1.2", "entries": []}}', "no entries"),
    "no log": (b'{"creator": {}}', 'no "log"'),
    "no objects": (b'{"objects": []}', "no objects"),
    "cycle": (
        b'{"objects": [{"url": "http://a.test/", "bytes": 1},'
        b' {"url": "http://a.test/1", "bytes": 1, "needs": [{"node": "http://a.test/1"}]}]}',
        "itself",
    ),
    "root that waits": (
        b'{"objects": [{"url": "http://a.test/", "bytes": 1, "needs": [{"node": "http://a.test/"}]}]}',
        "cannot have needs",
    ),
}


@pytest.mark.parametrize("verb", ["page", "load", "compare"])
@pytest.mark.parametrize("kind", BAD_PAGES)
def test_a_bad_page_is_one_line_that_names_the_file(
    loadstone: Command, tmp_path: Path, kind: str, verb: str
) -> None:
    content, expected = BAD_PAGES[kind]
    path = tmp_path / "bad.har"
    if content is not None:
        path.write_bytes(content)
    result = loadstone(verb, str(path))
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert expected in result.err and "bad.har" in result.err


def test_what_a_page_says_cannot_steer_the_terminal(loadstone: Command, tmp_path: Path) -> None:
    path = tmp_path / "steering.page.json"
    for url in ("https://a.test/\x1b[31m", "https://a.test/\x9b31m"):
        path.write_text(json.dumps({"objects": [{"url": url, "bytes": 1}]}))
        result = loadstone("page", str(path))
        assert "a.test" in result.out + result.err
        assert "\x1b" not in result.out + result.err and "\x9b" not in result.out + result.err


def test_a_directory_is_no_page(loadstone: Command, tmp_path: Path) -> None:
    result = loadstone("load", str(tmp_path))
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "directory" in result.err


def test_a_huge_har_is_refused_with_what_to_do(loadstone: Command, tmp_path: Path) -> None:
    path = tmp_path / "huge.har"
    with path.open("wb") as file:
        file.write(b'{"log": {"entries": [')
        file.truncate(200_000_000)
    result = loadstone("load", str(path))
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "without response bodies" in result.err and "jq 'del(" in result.err


BAD_USAGE = {
    "load synthetic:B --protocol gopher": ["--protocol", "gopher", "http/1.1"],
    "load synthetic:B --network=-10mbit,100ms": ["--network", "is no rate"],
    "load synthetic:B --network 10mbit,100ms,100%": ["--network", "nothing ever arrives"],
    "load synthetic:B --network 10mbit,100ms,120%": ["--network", "percentage"],
    "load synthetic:B --network modem": ["--network", "dsl-lossy"],
    "load synthetic:B --iw 0": ["--iw", "1 to 1000"],
    "load synthetic:B --iw ten": ["--iw", "ten"],
    "load synthetic:B --client-iw 1001": ["--client-iw", "1 to 1000"],
    "load synthetic:B --connections 0": ["--connections", "1 to 256"],
    "load synthetic:B --servers 0": ["--servers", "1 to 64"],
    "load synthetic:B --cc vegas": ["--cc", "vegas", "reno"],
    "load synthetic:B --network 10mbit,100ms,trace=nix.down": ["nix.down", "no such file"],
    "load synthetic:B --client-cc vegas": ["--client-cc", "vegas", "reno"],
    "load synthetic:B --tls 1.1": ["--tls", "1.1", "1.2"],
    "load synthetic:B --tcp plan9": ["--tcp", "plan9", "textbook"],
    "load synthetic:B --runs 0": ["--runs", "0"],
    "load synthetic:B --runs -1": ["--runs", "-1"],
    "load synthetic:B --threads 0": ["--threads", "0"],
    "load synthetic:B --seed -1": ["--seed", "-1"],
    "load synthetic:B --seed 18446744073709551615 --runs 2": ["--seed", "no room"],
    "load synthetic:Z": ["synthetic:Z"],
    "load synthetic:objects=0": ["synthetic:objects=0"],
    "load": ["PAGE", "--scenario"],
    "load synthetic:B extra": ["extra"],
    "load synthetic:B --colour red": ["--colour"],
    "load synthetic:B --scenario x.json": ["either"],
    "load --scenario x.json --iw 3": ["--iw"],
    "load --scenario nowhere.json": ["nowhere.json"],
    "compare": ["PAGE"],
    "compare synthetic:B --network nowhere": ["--network"],
    "compare synthetic:B --runs 0": ["--runs"],
    "page": ["PAGE"],
    "packets nowhere.csv nowhere.csv": ["nowhere.csv", "no such file"],
    "packets one.csv": ["FILE"],
    "race synthetic:B": ["race"],
    "--unknown": ["--unknown"],
}


@pytest.mark.parametrize("usage", BAD_USAGE)
def test_bad_usage_is_one_line_and_code_2(loadstone: Command, usage: str) -> None:
    result = loadstone(*usage.split())
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1, result.err
    for expected in BAD_USAGE[usage]:
        assert expected in result.err
    assert " at line " not in result.err and "variant." not in result.err


@pytest.mark.parametrize("option", ["--network", "--html", "--against", "--junit"])
def test_an_empty_name_names_nothing(loadstone: Command, option: str) -> None:
    for words in ([option, ""], [f"{option}="]):
        result = loadstone("compare", "synthetic:A", *words)
        assert (result.code, result.out) == (2, "")
        assert f"Invalid value for '{option}': it is empty: give a name" in result.err
    assert "it is empty: give a name" in loadstone("load", "").err


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.json", "{", "cut off at line 1, column 1"),
        ("a.json", '{"page": {"objects": []}, "netwrk": "dsl"}', "netwrk"),
        ("a.toml", "network = ", "TOML"),
        ("a.toml", 'network = "dsl"\nvariant.tcp.iw = 0\npage.objects = []', "variant.tcp.iw"),
        ("a.toml", "network = 2026-01-01", "not a scenario file"),
        ("a.json", '{"page": {"objects": []}}', "no objects"),
    ],
)
def test_a_bad_scenario_file_is_one_line_and_code_2(
    loadstone: Command, tmp_path: Path, name: str, text: str, expected: str
) -> None:
    (tmp_path / name).write_text(text)
    result = loadstone("load", "--scenario", str(tmp_path / name))
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert expected in result.err and name in result.err


@pytest.mark.parametrize("verb", ["page", "load", "compare", "whatif", "diff", "packets"])
def test_help_has_examples(loadstone: Command, verb: str) -> None:
    result = loadstone(verb, "--help")
    assert result.code == 0
    assert f"Examples:\n    loadstone {verb} " in result.out


def test_the_list_of_commands_has_whole_sentences(
    loadstone: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = loadstone("--help").out.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    assert listed and [line for line in listed if not line.endswith(".") or "..." in line] == []


def test_help_names_what_the_engine_knows(loadstone: Command) -> None:
    # Names with hyphens may be broken at the end of a line.
    shown = "".join(loadstone("load", "--help").out.split())
    for name in [*protocols(), *(name for name, _ in networks()), *OPTIONS.values()]:
        assert name in shown


def test_the_readme_shows_what_the_demo_says(loadstone: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shown = (ROOT / "README.md").read_text().split("```text\n")[1].split("```")[0]
    said = loadstone("compare", "examples/shop.har").out
    assert shown == said, "run 'make readme'"


@pytest.fixture
def decode(loadstone: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    def run(protocol: str, data: bytes, *options: str) -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return loadstone("decode", "--protocol", protocol, *options)

    return run


def _spdy_block(pairs: list[tuple[bytes, bytes]], zlib_of_session: Any) -> bytes:
    text = struct.pack(">I", len(pairs))
    for part in (part for pair in pairs for part in pair):
        text += struct.pack(">I", len(part)) + part
    return bytes(zlib_of_session.compress(text) + zlib_of_session.flush(zlib.Z_SYNC_FLUSH))


def test_decode_prints_a_line_for_each_frame(decode: Callable[..., Result]) -> None:
    """Compressed by zlib itself, without a dictionary, which the format allows."""
    session, data = zlib.compressobj(wbits=15), b""
    for stream in (1, 3):
        block = _spdy_block([(b":path", b"/\xe9"), (b"cookie", b"a=1\0b=2")], session)
        data += struct.pack(">HHIIIH", 0x8003, 1, 1 << 24 | 10 + len(block), stream, 0, 0xA000) + block
    data += struct.pack(">II", 3, 1 << 24 | 4) + b"body"
    result = decode("spdy/3.1", data)
    assert (result.code, result.err) == (0, "")
    lines = [json.loads(line) for line in result.out.splitlines()]
    head = {"type": "SYN_STREAM", "flags": 1, "associated_to_stream_id": 0, "priority": 5}
    headers = [[":path", "/\u00e9"], ["cookie", "a=1\0b=2"]]
    assert lines == [
        {**head, "stream_id": 1, "headers": headers},
        {**head, "stream_id": 3, "headers": headers},
        {"type": "DATA", "flags": 1, "stream_id": 3, "length": 4},
    ]
    assert "\\u0000" in result.out


def test_decode_of_cut_off_input_names_the_byte_after_the_frames_before(
    decode: Callable[..., Result],
) -> None:
    ping = bytes.fromhex("0000080600000000000102030405060708")
    result = decode("h2", ping + ping[:11])
    assert result.code == 2
    assert json.loads(result.out) == {"type": "PING", "flags": 0, "stream_id": 0, "id": 0x0102030405060708}
    assert result.err == "loadstone: the input ends at byte 28, within the frame that begins at byte 17\n"


@pytest.mark.parametrize(
    ("protocol", "why"), [("spdy/4", "unknown protocol 'spdy/4'"), ("http/1.1", "no frames")]
)
def test_decode_knows_only_protocols_with_frames(
    decode: Callable[..., Result], protocol: str, why: str
) -> None:
    result = decode(protocol, b"")
    assert result.code == 2
    assert why in result.err


def test_decode_goes_on_after_a_block_that_says_nothing(decode: Callable[..., Result]) -> None:
    session, data = zlib.compressobj(wbits=15), b""
    for count in (2, 1):
        block = _spdy_block([(b":path", b"/")], session) if count == 1 else _half_block(session)
        data += struct.pack(">HHIIIH", 0x8003, 1, 1 << 24 | 10 + len(block), 3 - count, 0, 0) + block
    result = decode("spdy/3", data)
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert result.code == 0
    assert [line.get("error") for line in lines] == ["the head is malformed", None]
    assert [line.get("headers") for line in lines] == [None, [[":path", "/"]]]


def _half_block(zlib_of_session: Any) -> bytes:
    """Two pairs, it says, and has none."""
    text = struct.pack(">I", 2)
    return bytes(zlib_of_session.compress(text) + zlib_of_session.flush(zlib.Z_SYNC_FLUSH))


def test_decode_takes_a_header_table_as_large_as_it_is_told(decode: Callable[..., Result]) -> None:
    """The block sets the table to 8,192 bytes and says `:method GET` (RFC 7541, sections 4.2 and 6.3)."""
    larger = bytes.fromhex("0000040104000000013fe13f82")
    assert decode("h2", larger).code == 2
    result = decode("h2", larger, "--header-table", "8192")
    assert json.loads(result.out)["headers"] == [[":method", "GET"]]
    assert "no header table" in decode("spdy/3", b"", "--header-table", "8192").err


def test_decode_prints_a_frame_while_its_connection_goes_on() -> None:
    ping = bytes.fromhex("0000080600000000000102030405060708")
    command = [sys.executable, "-m", "loadstone", "decode", "--protocol", "h2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(3):
            process.stdin.write(ping)
            process.stdin.flush()
            # It would wait here for ever if the frame were kept back.
            assert json.loads(process.stdout.readline())["id"] == 0x0102030405060708
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.parametrize("verb", ["load", "analyze"])
def test_help_loads_nothing_heavy(verb: str) -> None:
    code = (
        "import sys\n"
        "from loadstone import cli\n"
        f"try: cli.main(['{verb}', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'jinja2', 'matplotlib', 'numpy', 'polars', 'rich', 'scipy', 'sklearn', 'zstandard',\n"
        " 'pyarrow', 'distributed', 'pandas'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr == "[]\n"


def test_a_reader_that_leaves_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "loadstone", "load", "synthetic:B", "--json"]
    result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (result.returncode, result.stderr) == (141, b"")


def test_ctrl_c_ends_with_130_and_one_line(
    loadstone: Command, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("loadstone.experiment.run_many", interrupted)
    result = loadstone("load", small)
    assert (result.code, result.out, result.err) == (130, "", "loadstone: interrupted\n")


@pytest.mark.usefixtures("odd_seeds_given_up")
def test_incomplete_loads_are_said_and_left_out(loadstone: Command, small: str) -> None:
    words = loadstone("load", small, "--network", "dsl-lossy", "--runs", "7")
    assert words.code == 0
    assert "4 of 7 runs did not complete: the figures are of the others" in words.out
    result = loadstone("load", small, "--network", "dsl-lossy", "--runs", "7", "--json")
    completed = [run["plt_ms"] for run in result.document["runs"] if run["completed"]]
    assert len(result.document["runs"]) == 7
    assert result.document["median_plt_ms"] == sorted(completed)[1]
    assert "4 of 7 runs did not complete" in result.err
    none = loadstone("load", small, "--json", "--seed", "1", "--runs", "1")
    assert none.document["median_plt_ms"] is None
    assert "did not complete" in loadstone("load", small).out
    assert "No run was completed" in loadstone("compare", small, "--network", "dsl", "--runs", "1").out
    assert "3 of 7" in loadstone("compare", small, "--network", "dsl-lossy", "--runs", "7").out


def test_fields_that_options_set_are_fields_of_the_scenario() -> None:
    # All of these are left out where they are nothing.
    variant = {"connections_in_all": 16, "names": "looked-up", "tls_flights": "1800/2000/80", "compute": 2}
    policies = {"sharding": "one", "priorities": "kind", "visit_after": 5, "prefetch": "next"}
    variant |= {"pipelined_requests": 2, "pipelining_probe": "at-start", "browser": "2012"}
    given = {"spread": {"network": 1}, "variant": {**variant, **policies}}
    fields = json.loads(_scenario(**given).to_json())
    for path in OPTIONS:
        place = fields
        for key in path.split("."):
            assert key in place, path
            place = place[key]


def test_pages_visited_before_are_one_or_several() -> None:
    page = {"objects": [{"url": "http://a.test/", "bytes": 1, "response_fields": []}]}
    for given, written in ((page, dict), ([page], dict), ([page, page], list), ([], None), (None, None)):
        scenario = json.loads(_scenario(before=given, variant={"visit_after": 5}).to_json())
        assert type(scenario.get("before")) is (written or type(None))
    with pytest.raises(LoadstoneError) as error:
        _scenario(before=[page, {"objects": [{"url": 1}]}], variant={"visit_after": 5})
    assert "before[1].objects[0].url" in str(error.value.args[1])


def _scenario(**fields: object) -> Scenario:
    page = {"objects": [{"url": "http://a.test/", "bytes": 1, "response_fields": []}]}
    return Scenario(json.dumps({"page": page, **fields}))


def test_an_error_of_the_engine_names_the_field() -> None:
    with pytest.raises(LoadstoneError) as error:
        _scenario(variant={"tcp": {"iw": 0}})
    why, field = error.value.args
    assert field == "variant.tcp.iw"
    assert "1 to 1000" in why


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.json")), ids=lambda path: path.name)
def test_the_scenarios_that_are_shipped_run(loadstone: Command, path: Path) -> None:
    result = loadstone("load", "--scenario", str(path), "--json")
    assert result.code == 0
    assert all(run["completed"] for run in result.document["runs"])


def test_flows_are_the_client_s_too_unless_it_has_its_own(loadstone: Command, small: str) -> None:
    def flows(*given: str) -> list[int | None]:
        variant = loadstone("load", small, "--json", *given).document["variant"]
        return [variant[side]["flows"] for side in ("tcp", "client_tcp")]

    assert flows() == [None, None]
    assert flows("--flows", "4") == [4, 4]
    assert flows("--flows", "4", "--client-flows", "1") == [4, 1]


def test_what_is_about_this_machine_s_tcp_is_refused_without_it(loadstone: Command, small: str) -> None:
    result = loadstone("load", small, "--flows", "4", "--machine-wide-beta")
    assert result.code == 2 and "give it with --live" in result.err
