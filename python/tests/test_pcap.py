"""The packets of a load as pcapng: other programs see in it what the load says of itself."""

import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Command, need
from loadstone import packets
from loadstone.captures import tables

LOSSY = ["--network", "10/1mbit,60ms,2%,queue=12p", "--runs", "1"]


@pytest.fixture
def lossy(loadstone: Command, tmp_path: Path) -> Any:
    """Load a page through loss, and give its run and the path of its packets as they come to the link."""

    def load(*options: str) -> tuple[dict[str, Any], Path]:
        path = tmp_path / "load.pcapng"
        given = ["load", "synthetic:B", *LOSSY, "--pcap", path, "--pcap-at", "link", "--json", *options]
        result = loadstone(*map(str, given))
        assert result.code == 0, result.err
        return result.document["runs"][0], path

    return load


def output(*command: str | Path) -> str:
    # tshark says on its standard error that it runs as root.
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def fields(path: Path, *names: str) -> list[list[str]]:
    """Give the fields of each packet, as tshark reads them, with all checksums checked."""
    checks = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    wanted = [word for name in names for word in ("-e", name)]
    lines = output(need("tshark"), "-n", "-r", path, *checks, "-T", "fields", *wanted).splitlines()
    return [line.split("\t") for line in lines]


@pytest.mark.parametrize("protocol", ["http/1.1", "h2"])
def test_tcptrace_counts_what_the_load_counts(lossy: Any, protocol: str) -> None:
    program = need("tcptrace")
    run, path = lossy("--protocol", protocol)
    said = output(program, "-l", path)

    def total(what: str) -> int:
        found = re.findall(rf"{re.escape(what)}: +(\d+) +{re.escape(what)}: +(\d+)", said)
        assert len(found) == run["connections"]
        return sum(int(count) for both in found for count in both)

    seen = re.search(r"(\d+) packets seen, (\d+) TCP packets traced", said)
    assert seen and {int(count) for count in seen.groups()} == {run["packets_down"] + run["packets_up"]}
    assert f"\n{run['connections']} TCP connection" in said
    # What is no data: 40 bytes of headers, 12 of timestamps, 8 more with a SYN, and what SACK blocks take.
    headers = [int(line[0]) for line in fields(path, "tcp.hdr_len")]
    data = run["bytes_down"] + run["bytes_up"] - sum(headers) - 20 * len(headers)
    assert total("actual data bytes") == data
    assert run["retransmissions"] > 10
    handshakes = [text for (text,) in fields(path, "frame.comment") if "retransmission: handshake" in text]
    # It counts SYNs among them.
    assert total("rexmt data pkts") == run["retransmissions"] + len(handshakes)


def test_tshark_finds_nothing_wrong_and_comments_as_many_as_repairs(lossy: Any) -> None:
    run, path = lossy()
    wrong = "_ws.malformed", "ip.checksum.status", "tcp.checksum.status"
    found = {tuple(line) for line in fields(path, *wrong)}
    # At the link there is what was lost, and the same again; its reassembly takes this for an error.
    overlaps = "[Reassembly error, protocol TCP: New fragment overlaps old data (retransmission?)]"
    found = {(wrong.removeprefix(f"{overlaps},_ws.malformed"), *checks) for wrong, *checks in found}
    assert found == {("", "1", "1")}, found
    said = Counter(text.split(",")[0].split(";")[0] for (text,) in fields(path, "frame.comment") if text)
    assert said["retransmission: fast (RACK)"] == run["fast_retransmissions"] > 0
    probes = said["retransmission: tail loss probe"] + said["tail loss probe of new data"]
    assert (probes, said["retransmission: timeout"]) == (run["tail_loss_probes"], run["timeouts"])
    again = sum(count for text, count in said.items() if text.startswith("retransmission"))
    assert again - said["retransmission: handshake"] == run["retransmissions"]
    assert said["lost"] > 0 and said["dropped by the queue"] > 0


def test_names_of_hosts_are_in_the_file(loadstone: Command, small: str, tmp_path: Path) -> None:
    path = tmp_path / "load.pcapng"
    assert loadstone("load", small, "--pcap", str(path)).code == 0
    resolved = output(need("tshark"), "-N", "n", "-r", path, "-T", "fields", "-e", "ip.dst_host")
    assert {"client", "a.test", "b.test"} <= set(resolved.split())


def test_the_same_load_is_the_same_file_and_a_point_is_another(loadstone: Command, tmp_path: Path) -> None:
    def load(name: str, *options: str) -> bytes:
        path = tmp_path / name
        result = loadstone("load", "synthetic:A", *LOSSY, "--pcap", str(path), *options)
        assert (result.code, result.err) == (0, "")
        return path.read_bytes()

    files = {at: load(at, "--pcap-at", at) for at in ("client", "server", "link")}
    assert len(set(files.values())) == 3
    assert load("default") == files["client"] == load("again", "--packets", str(tmp_path / "packets.csv"))


@pytest.mark.parametrize("protocol", ["http/1.1", "http/1.1+pipelining", "spdy/2", "spdy/3.1", "h2"])
def test_a_capture_at_the_client_tells_the_waterfall(
    loadstone: Command, protocol: str, tmp_path: Path
) -> None:
    path, folder = tmp_path / "load.pcapng", tmp_path / "capture"
    given = [*LOSSY, "--protocol", protocol, "--tls", "none", "--pcap", str(path), "--json", "--waterfall"]
    loaded = loadstone("load", "synthetic:B", *given)
    assert loadstone("capture", str(path), "-o", str(folder)).code == 0
    rows = pl.DataFrame(loaded.document["runs"][0]["waterfall"]).sort("bytes", "last_byte_ms")
    epoch = 946_684_800_000
    sent = pl.col("request_ms") - epoch
    first = sent + pl.col("request_time_ms") + pl.col("response_wait_ms")
    seen = pl.read_parquet(folder / f"{tables.EXCHANGES}.parquet").with_columns(
        sent_ms=sent, first_byte_ms=first, last_byte_ms=first + pl.col("response_time_ms")
    )
    seen = seen.sort("body_bytes", "last_byte_ms")
    assert seen["body_bytes"].to_list() == rows["bytes"].to_list()
    assert set(seen["status"]) == {200} and seen["answered"].all()
    # Times since 1970 have steps of 0.1 us.
    assert (seen["last_byte_ms"] - rows["last_byte_ms"]).abs().max() < 0.001
    late = seen["sent_ms"] - rows["sent_ms"]
    # Requests that are pipelined wait for the congestion window.
    assert late.min() > -0.001 and (late.max() < 0.001 or protocol == "http/1.1+pipelining")
    # The browser knows of a head when all of it is there, the capture when the first byte is.
    early = rows["first_byte_ms"] - seen["first_byte_ms"]
    assert early.min() > -0.001 and early.median() < 0.001


def test_under_tls_records_are_seen_and_heads_that_are_cut_tell_methods(
    loadstone: Command, tmp_path: Path
) -> None:
    def exchanges(*options: str) -> pl.DataFrame:
        path, folder = tmp_path / "load.pcapng", tmp_path / f"capture{len(options)}"
        assert loadstone("load", "synthetic:B", *LOSSY, "--pcap", str(path), *options).code == 0
        assert loadstone("capture", str(path), "-o", str(folder)).code == 0
        return pl.read_parquet(folder / f"{tables.EXCHANGES}.parquet")

    http1 = "--protocol", "http/1.1"
    encrypted = exchanges(*http1)
    assert set(encrypted["kind"]) == {"tls"} and len(encrypted) == 101
    cut = exchanges(*http1, "--tls", "none", "--pcap-snaplen", "100")
    assert set(cut["method"]) == {"GET"} and set(cut["status"]) == {200} and len(cut) == 101
    assert cut["body_bytes"].null_count() == 101


def test_both_files_are_of_one_load_and_say_what_they_lack(
    loadstone: Command, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = loadstone("load", "synthetic:A", "--network", "dsl-lossy", "--pcap", str(tmp_path / "p"))
    assert result.code == 2 and "--pcap is of one load" in result.err and not (tmp_path / "p").exists()
    result = loadstone("load", small, "--pcap-at", "link")
    assert result.code == 2 and "give both" in result.err
    result = loadstone("load", small, "--pcap-snaplen", "100")
    assert result.code == 2 and "give both" in result.err
    result = loadstone("load", small, "--pcap", str(tmp_path / "p"), "--pcap-at", "moon")
    assert result.code == 2 and "'client', 'server', 'link'" in result.err
    monkeypatch.setattr(packets, "LIMIT", 10)
    table, file = tmp_path / "packets.csv", tmp_path / "load.pcapng"
    result = loadstone("load", small, "--packets", str(table), "--pcap", str(file))
    assert result.code == 0 and result.err.count("only the first 10 packets") == 2
    assert b"the first 10 packets; " in file.read_bytes()
