"""What `ss` prints of sockets, as tables: a user's dumps in, rows out."""

import socket
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Command, need

TWO = """State Recv-Q Send-Q   Local Address:Port      Peer Address:Port Process
LISTEN 0     128            0.0.0.0:443             0.0.0.0:*
ESTAB 0      0            192.0.2.1:443       198.51.100.7:51234
\t ts sack cubic wscale:8,7 rto:252 rtt:50.5/5.25 ato:40 mss:1448 advmss:1460 bytes_sent:100000 \
bytes_retrans:2896 bytes_acked:97105 bytes_received:700 segs_out:80 segs_in:60 data_segs_out:72 \
data_segs_in:2 busy:800ms rwnd_limited:120ms(15.0%) retrans:0/2 dsack_dups:1 minrtt:48.75
ESTAB 0      0   [::ffff:192.0.2.1]%eth0:443 [::ffff:198.51.100.8]:40000 \
cubic rtt:9/3 bytes_sent:10 bytes_acked:11 segs_out:3 segs_in:4 data_segs_out:1
"""


@pytest.fixture
def read(loadstone: Command, tmp_path: Path) -> Any:
    """Read a dump, and give its rows."""

    def rows(text: str) -> pl.DataFrame:
        (tmp_path / "sockets.txt").write_text(text)
        result = loadstone("capture", str(tmp_path / "sockets.txt"), "-o", str(tmp_path / "tables"))
        assert (result.code, result.err) == (0, "")
        assert "that `ss` printed" in result.out and "handshakes" not in result.out
        return pl.read_parquet(tmp_path / "tables" / "connections.parquet")

    return rows


def test_a_server_s_sockets_are_rows_as_captures_have_them(read: Any) -> None:
    one, other = read(TWO).rows(named=True)
    ends = one["client"], one["client_port"], one["server"], one["server_port"], one["captured_at"]
    assert ends == ("198.51.100.7", 51234, "192.0.2.1", 443, "server")
    assert (one["packets_down"], one["packets_up"], one["data_packets_down"]) == (80, 60, 72)
    assert (one["data_bytes_down"], one["bytes_down"], one["bytes_up"]) == (100_000, 97_104, 700)
    again = one["retransmitted_packets_down"], one["retransmitted_bytes_down"], one["spurious_down"]
    assert again == (2, 2896, 1)
    rtt = one["rtt_mean_ms_down"], one["rtt_deviation_ms_down"], one["rtt_min_ms_down"]
    assert rtt == (50.5, 5.25, 48.75)
    assert (one["busy_ms_down"], one["window_limited_ms_down"], one["sack"]) == (800, 120, True)
    assert (one["window_scale_down"], one["window_scale_up"], one["mss_down"]) == (7, 8, 1460)
    assert one["timeouts_down"] is None and one["start_ms"] is None
    assert (other["client"], other["server"]) == ("198.51.100.8", "192.0.2.1")
    assert (other["bytes_down"], other["sack"]) == (10, False)


def test_what_was_told_last_counts_and_a_port_may_be_used_again(read: Any) -> None:
    def told(acked: int) -> str:
        ends = "192.0.2.1:443 198.51.100.7:51234"
        return f"ESTAB 0 0 {ends}\n\t rtt:50/5 bytes_sent:{acked} bytes_acked:{acked}\n"

    rows = read(told(10) + told(500) + told(900) + told(30) + told(40))
    assert rows["bytes_down"].to_list() == [900, 40]
    assert rows["connection"].to_list() == [1, 2]


def test_the_kernel_s_own_sockets_are_read_and_analyzed(
    read: Any, loadstone: Command, tmp_path: Path
) -> None:
    program = need("ss")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client, server.accept()[0] as accepted:
            client.sendall(b"x" * 1_000)
            assert len(accepted.recv(2_000)) == 1_000
            accepted.sendall(b"y" * 30_000)
            got = 0
            while got < 30_000:
                got += len(client.recv(65_536))
            own = "sport", "=", f":{port}", "or", "dport", "=", f":{port}"
            told = subprocess.run([program, "-tin", *own], check=True, capture_output=True, text=True)
    rows = read(told.stdout)
    assert len(rows) == 2
    for row in rows.rows(named=True):
        here, there = ("down", "up") if row["captured_at"] == "server" else ("up", "down")
        assert {row[f"bytes_{here}"], row[f"bytes_{there}"]} == {1_000, 30_000}
        assert 0 < row[f"rtt_mean_ms_{here}"] < 1_000
    analyzed = loadstone("analyze", str(tmp_path / "tables"))
    assert analyzed.code == 0 and "2 connections" in analyzed.out


def test_what_cannot_be_read_is_refused(loadstone: Command, tmp_path: Path) -> None:
    dump, bare, capture = (tmp_path / name for name in ("dump", "bare", "capture"))
    dump.write_text(TWO)
    bare.write_text("ESTAB 0 0 192.0.2.1:443 198.51.100.7:51234\n")
    capture.write_bytes(b"\xd4\xc3\xb2\xa1" + bytes(20))
    for given, why in (
        ([bare], "print them with `ss -tin`"),
        ([dump, capture], "read them apart"),
        ([dump, "--periods"], "no packets"),
        ([dump, "--connection", "1"], "no packets"),
    ):
        result = loadstone("capture", *map(str, given), "-o", str(tmp_path / "tables"))
        assert result.code == 2 and why in result.err, why
