"""Any command behind a link, as a user meets it: what it sees, how it ends, what the link saw."""

import json
import os
import pty
import shlex
import signal
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kernel
from conftest import EXAMPLES, Command, Result, need
from kernel import LOADSTONE, PATIENCE, as_nobody, need_nobody

pytestmark = pytest.mark.usefixtures("access")

SHOP = str(EXAMPLES / "shop.har")
ROOT = "https://shop.example.test/"
FETCH = [*LOADSTONE, "fetch"]
A_SECOND = 1.0


def bed(*arguments: str) -> Result:
    """Run a command on a bed; what it says is a line of its own, at the end."""
    return kernel.run("bed", *arguments)


def shell(script: str, *options: str) -> Result:
    """Run a shell's script on a bed without a recording."""
    return bed("--network", "100mbit,10ms", *options, "--", "sh", "-c", script)


def ended(result: Result) -> Any:
    """Give what the link saw."""
    return json.loads(result.out.splitlines()[-1])


# --- what it sees ---


def test_a_recording_s_page_is_fetched_by_its_name_with_the_protocol_that_it_spoke() -> None:
    result = bed(SHOP, "--network", "cable", "--json", "--", *FETCH, ROOT, "--insecure", "--json")
    fetched, seen = (json.loads(line) for line in result.out.splitlines())
    (one,) = fetched["responses"]
    assert (result.code, one["status"], _spoken(fetched)) == (0, 200, "h2")
    (connection,) = seen["connections"]
    assert (connection["host"], connection["server"]) == ("shop.example.test", "198.18.0.2:443")
    assert connection["down"]["bytes"] > one["bytes"]
    assert seen["link"]["down"]["bytes"] > connection["down"]["bytes"], "the name server's answer, too"


def _spoken(fetched: Any) -> str:
    return str(fetched["connections"][0]["protocol"])


def test_the_protocol_can_be_another() -> None:
    chosen = [SHOP, "--network", "cable", "--protocol", "http/1.1"]
    assert _spoken(bed(*chosen, "--", *FETCH, ROOT, "--insecure", "--json").document) == "http/1.1"


@pytest.mark.parametrize("trusted", [True, False])
def test_certificates_are_trusted_and_names_are_checked(trusted: bool, tmp_path: Path) -> None:
    program = (
        "import socket, ssl, sys\n"
        "raw = socket.create_connection((sys.argv[1], 443))\n"
        "print(ssl.create_default_context().wrap_socket(raw, server_hostname=sys.argv[2]).version())\n"
    )
    name = "shop.example.test" if trusted else "another.test"
    python = [LOADSTONE[0], "-c", program, "shop.example.test", name]
    result = bed(SHOP, "--network", "100mbit,10ms", "--", *python)
    assert (result.code == 0) == trusted, result.err
    assert "TLSv1.3" in result.out if trusted else "CERTIFICATE_VERIFY_FAILED" in result.err


def test_names_are_those_of_the_recording_and_no_others() -> None:
    ask = "import socket, sys; print(socket.gethostbyname(sys.argv[1]))"
    known, unknown = (
        bed(SHOP, "--network", "100mbit,10ms", "--", LOADSTONE[0], "-c", ask, name)
        for name in ("SHOP.example.test", "nowhere.test")
    )
    assert (known.code, known.out) == (0, "198.18.0.2\n")
    assert unknown.code == 1 and "gaierror" in unknown.err


def test_a_look_up_crosses_the_link() -> None:
    ask = "import socket; socket.gethostbyname('server')"
    result = shell(f'{LOADSTONE[0]} -c "{ask}"', "--json")
    ways = ended(result)["link"]
    assert (ways["up"]["packets"], ways["down"]["packets"]) == (1, 1)


def test_it_is_alone_with_its_network_and_its_processes() -> None:
    result = shell("cat /etc/hosts; echo $$; cat /proc/net/dev | grep -c :; cat /proc/net/route | wc -l")
    hosts, number, devices, routes = result.out.splitlines()
    assert hosts == "127.0.0.1 localhost"
    assert (int(number) < 10, int(devices), int(routes)) == (True, 2, 3)
    assert Path("/etc/hosts").read_text() != "127.0.0.1 localhost\n"


def test_several_recordings_are_served_at_once(tmp_path: Path) -> None:
    pages = []
    for name in ("a.test", "b.test"):
        path = tmp_path / f"{name}.page.json"
        path.write_text(json.dumps({"objects": [{"url": f"https://{name}/", "bytes": 1000}]}))
        pages.append(str(path))
    result = bed(*pages, "--network", "100mbit,10ms", "--", *FETCH, "https://a.test/", "https://b.test/",
                 "--insecure", "--json")  # fmt: skip
    assert [one["bytes"] for one in result.document["responses"]] == [1000, 1000]


def test_a_program_of_one_s_own_serves_behind_the_link(tmp_path: Path) -> None:
    (tmp_path / "hello").write_text("hello\n")
    server = f"{LOADSTONE[0]} -m http.server 80 --directory {tmp_path}"
    fetch = " ".join([*FETCH, "http://server/hello", "--output", str(tmp_path / "got"), ">/dev/null", "2>&1"])
    fetch = f"until {fetch}; do sleep 0.1; done"
    result = shell(fetch, "--server-command", server)
    assert (result.code, result.out) == (0, ""), "what the server says goes to standard error"
    assert any(path.read_text() == "hello\n" for path in (tmp_path / "got").rglob("*") if path.is_file())


# --- an edge between two links ---


def behind_edge(folder: Path, command: str, *words: str) -> Result:
    """Run a command with an edge before the servers of two hosts."""
    path = folder / "two.page.json"
    objects = [{"url": f"https://{name}/", "bytes": 1000} for name in ("a.test", "b.test")]
    path.write_text(json.dumps({"objects": objects}))
    links = ["--network", "20mbit,10ms", "--backhaul", "50mbit,40ms"]
    result = bed(str(path), *links, "--edge-command", command, "--json", "--", *words)
    assert result.code == 0, result.err
    return result


def test_clients_meet_the_edge_under_the_servers_names_and_it_finds_the_servers(tmp_path: Path) -> None:
    log = tmp_path / "edge.log"
    origins = [word for name in ("a.test", "b.test") for word in ("--origin", f"{name}=http://{name}")]
    edge = [*LOADSTONE, "edge", "--listen", "0.0.0.0:443", *origins, "--access-log", str(log)]
    fetch = " ".join([*FETCH, "https://a.test/", "https://b.test/"])
    result = behind_edge(
        tmp_path,
        f"{shlex.join(edge)} --cert $SERVER_CERT --key $SERVER_KEY",
        *("sh", "-c", f"until {fetch} >/dev/null 2>&1; do sleep 0.05; done; exec {fetch} --json"),
    )
    # The certificate proves both names.
    fetched = json.loads(result.out.splitlines()[0])
    assert [one["status"] for one in fetched["responses"]] == [200, 200]
    seen = ended(result)
    assert {one["server"].rpartition(":")[0] for one in seen["connections"] if one["host"] is None} == {
        "198.18.0.2"
    }
    behind = {(one["host"], one["server"]) for one in seen["connections"] if one["host"] is not None}
    assert behind == {("a.test", "198.18.0.3:80"), ("b.test", "198.18.0.4:80")}
    # Relayed is all that came, and it has passed both links.
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert sum(entry.get("bytes", 0) for entry in entries) < seen["backhaul"]["down"]["bytes"]
    assert seen["backhaul"]["down"]["bytes"] < seen["link"]["down"]["bytes"]


def test_what_stands_between_is_any_program_and_each_link_has_its_own_round_trip(tmp_path: Path) -> None:
    """Names are looked up over the client's link alone, and the edge asks servers over the other alone."""
    ask = "from urllib.request import urlopen; print(len(urlopen('http://a.test/').read()))"
    got = tmp_path / "got"
    edge = f'{LOADSTONE[0]} -c "{ask}" > {got}.part; mv {got}.part {got}'
    look_up = f"{LOADSTONE[0]} -c \"import socket; print(socket.gethostbyname('a.test'))\""
    result = behind_edge(tmp_path, edge, "sh", "-c", f"until [ -e {got} ]; do sleep 0.05; done; {look_up}")
    seen = ended(result)
    assert (result.out.splitlines()[0], got.read_text()) == ("198.18.0.2", "1000\n")
    assert (seen["link"]["up"]["packets"], seen["link"]["down"]["packets"]) == (1, 1)
    assert seen["backhaul"]["down"]["bytes"] > 1000
    assert seen["network"] == "access 20mbit,10ms; backhaul 50mbit,40ms"


def test_an_edge_needs_its_backhaul_and_servers_of_a_recording(loadstone: Command) -> None:
    for words, why in (
        (["--edge-command", "true"], "--backhaul"),
        (["--backhaul", "1gbit,60ms"], "--edge-command"),
        (["--edge-command", "true", "--backhaul", "1gbit,60ms", "--server-command", "true"], "RECORDING"),
        (["--edge-command", "true", "--backhaul", "1gbit"], "--backhaul: "),
    ):
        result = loadstone("bed", "--network", "cable", *words, "--", "true")
        assert result.code == 2 and why in result.err, words


# --- what the link saw ---


def test_pings_take_the_link_s_time_and_are_lost_as_often_as_it_loses() -> None:
    result = bed("--network", "10mbit,40ms,loss=5%", "--pings", "1000", "--json", "--", "true")
    document = ended(result)
    pings, ways = document["pings"], document["link"]
    assert pings["round_trip_ms"]["least"] >= 40
    lost = ways["down"]["lost"] + ways["up"]["lost"]
    assert pings["sent"] - pings["answered"] == lost
    assert ways["up"]["packets"] == 1000
    # Each of two ways loses 5 %: 97.5 in 1,000, and four times its deviation of 9.4.
    assert 60 <= lost <= 135


def test_the_capture_has_all_packets_of_the_client(tmp_path: Path) -> None:
    path = tmp_path / "client.pcap"
    options = ["--network", "cable", "--pcap", str(path), "--json"]
    result = bed(SHOP, *options, "--", *FETCH, ROOT, "--insecure", "--json")
    seen = ended(result)
    data = path.read_bytes()
    magic, *_, link_type = struct.unpack("<IHHiIII", data[:24])
    assert (magic, link_type) == (0xA1B23C4D, 101), "nanoseconds, and packets without a link's header"
    sent, got, at = [], [], 24
    while at < len(data):
        _, _, kept, whole = struct.unpack("<IIII", data[at : at + 16])
        packet = data[at + 16 : at + 16 + kept]
        assert kept == whole and packet[0] >> 4 == 4
        (sent if packet[12:16] == bytes([198, 18, 0, 1]) else got).append(whole)
        at += 16 + kept
    up, down = seen["link"]["up"], seen["link"]["down"]
    assert (len(sent), sum(sent)) == (up["packets"], up["bytes"])
    # What was under way at the end did not arrive.
    assert 20 < len(got) <= down["packets"] and sum(got) <= down["bytes"]
    assert seen["capture_missed"] == 0


def _exchanges(pcap: Path, keys: Path, tmp_path: Path) -> pl.DataFrame:
    """Give the exchanges of a capture, decrypted."""
    result = kernel.run("capture", str(pcap), "--keys", str(keys), "-o", str(tmp_path / "capture"))
    assert (result.code, result.err) == (0, "")
    return pl.read_parquet(tmp_path / "capture" / "exchanges.parquet").sort("request_ms")


def test_what_a_client_fetched_by_http2_is_read_in_its_capture_with_the_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pcap, keys = tmp_path / "client.pcap", tmp_path / "keys"
    monkeypatch.setenv("SSLKEYLOGFILE", str(keys))
    options = ["--network", "cable", "--pcap", str(pcap)]
    fetched = bed(SHOP, *options, "--", *FETCH, ROOT, "--insecure", "--json").document
    seen = _exchanges(pcap, keys, tmp_path)
    (one,) = fetched["responses"]
    assert seen.select("kind", "method", "status", "body_bytes").rows() == [("h2", "GET", 200, one["bytes"])]
    # The secrets may be in the file.
    both = tmp_path / "both.pcapng"
    subprocess.run([need("editcap"), "--inject-secrets", f"tls,{keys}", pcap, both], check=True)
    keys.write_text("# none\n")
    assert _exchanges(both, keys, tmp_path)["kind"].to_list() == ["h2"]


def test_secrets_of_openssl_s_clients_decrypt_their_captures(tmp_path: Path) -> None:
    pcap, keys = tmp_path / "client.pcap", tmp_path / "keys"
    program = (
        "import ssl, sys, urllib.request\n"
        "context = ssl.create_default_context()\n"
        "context.keylog_filename, context.maximum_version = sys.argv[1], ssl.TLSVersion[sys.argv[2]]\n"
        "for path in ('', 'missing'):\n"
        "    try:\n"
        "        url = 'https://shop.example.test/' + path\n"
        "        print(len(urllib.request.urlopen(url, context=context).read()))\n"
        "    except urllib.error.HTTPError as error:\n"
        "        print(error.code)\n"
    )
    for version in ("TLSv1_2", "TLSv1_3"):
        python = [LOADSTONE[0], "-c", program, str(keys), version]
        options = ["--network", "100mbit,10ms", "--protocol", "http/1.1", "--pcap", str(pcap)]
        result = bed(SHOP, *options, "--", *python)
        size, code = map(int, result.out.split()[:2])
        seen = _exchanges(pcap, keys, tmp_path)
        assert seen.select("kind", "status").rows() == [("http/1.1", 200), ("http/1.1", code)], version
        assert seen["body_bytes"][0] == size > 1_000


def test_two_beds_at_once_do_not_disturb_each_other() -> None:
    command = [*LOADSTONE, "bed", "--network", "10mbit,60ms", "--pings", "50", "--json", "--", "true"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for one in both:
        out, _ = one.communicate(timeout=PATIENCE)
        document = json.loads(out.splitlines()[-1])
        assert document["pings"]["answered"] == 50
        assert document["link"]["up"]["packets"] == 50


def test_a_bed_that_ends_takes_no_trust_from_another(tmp_path: Path) -> None:
    """Chromium's is in the user's folder; where there was none, the last bed takes it away."""
    need("certutil")
    first, second = tmp_path / "first", tmp_path / "second"
    script = 'touch "$0"; until [ -e "$1" ]; do sleep 0.05; done; sleep 0.5; ls ~/.pki/nssdb'

    def begun(*files: Path) -> subprocess.Popen[str]:
        command = [*LOADSTONE, "bed", "--network", "10mbit,60ms", "--", "sh", "-c", script, *map(str, files)]
        env = {**os.environ, "HOME": str(tmp_path)}
        bed = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        while not files[0].exists():
            assert bed.poll() is None, "it ended"
            time.sleep(0.05)
        return bed

    one = begun(first, second)
    with begun(second, tmp_path / "ended") as other:
        assert "cert9.db" in one.communicate(timeout=PATIENCE)[0]
        (tmp_path / "ended").touch()
        assert "cert9.db" in other.communicate(timeout=PATIENCE)[0]
    assert not (tmp_path / ".pki").exists()


def test_a_bed_works_within_a_bed() -> None:
    inner = [*LOADSTONE, "bed", "--network", "10mbit,30ms", "--pings", "5", "--json", "--", "true"]
    result = bed("--network", "10mbit,40ms", "--", *inner)
    assert ended(result)["pings"]["answered"] == 5


# --- how it ends ---


@pytest.mark.parametrize(
    ("script", "code"), [("true", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
)
def test_its_exit_code_is_the_command_s(script: str, code: int) -> None:
    assert shell(script).code == code


def test_input_output_and_errors_are_the_command_s_own() -> None:
    result = kernel.run("bed", "--network", "cable", "--", "sh", "-c", "cat; echo no >&2", stdin="given\n")
    assert (result.code, result.out, result.err) == (0, "given\n", "no\n")


def test_a_command_that_is_not_there_has_a_shell_s_exit_codes(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program\n")
    for words, code in (("nosuch-program", 127), (str(plain), 126)):
        result = bed("--network", "cable", "--", words)
        assert result.code == code and result.err.count("\n") == 1 and words in result.err


def test_packets_of_shuffled_loads_are_not_to_be_had(loadstone: Command, tmp_path: Path) -> None:
    path = tmp_path / "client.pcap"
    refused = loadstone("bed", "--loads", "2", "--pcap", str(path), "--", "chromium", "https://a.test/")
    assert refused.code == 2 and "leave it out with --loads" in refused.err
    assert not path.exists()


def test_without_a_command_it_says_how_to_give_one(loadstone: Command) -> None:
    result = loadstone("bed", SHOP)
    assert result.code == 2 and "behind '--'" in result.err


def test_a_kernel_cannot_be_another_system_s() -> None:
    for option, value in (("--iw", "0"), ("--tcp", "linux-2.6"), ("--client-tcp", "windows-7")):
        result = bed("--network", "cable", option, value, "--", "true")
        assert result.code == 2 and option in result.err and result.err.count("\n") == 1


def test_a_receive_window_is_half_of_the_kernel_s_buffer() -> None:
    result = bed(
        "--network", "cable", "--client-receive-window", "65535", "--", "cat", "/proc/sys/net/ipv4/tcp_rmem"
    )
    assert result.out.split() == ["131070"] * 3


class Begun:
    """A bed whose command goes on, and has started others that would."""

    def __init__(self, mark: Path, first: str = "", **more: Any) -> None:
        script = f"{first} sleep 600 & setsid sleep 600 & touch {mark}; wait"
        command = [*LOADSTONE, "bed", "--network", "cable", "--", "sh", "-c", script]
        more = {"preexec_fn": _heed_hangups, **more}
        self.process = subprocess.Popen(command, start_new_session=True, **more)
        end = time.monotonic() + PATIENCE
        while not mark.exists():
            assert time.monotonic() < end and self.process.poll() is None
            time.sleep(0.01)
        self.descendants = _descendants(self.process.pid)
        self.folders = {*Path("/tmp").glob("loadstone-bed-*")}

    def left(self) -> list[int]:
        """Give what is left of it after a second."""
        end = time.monotonic() + A_SECOND
        while (left := [one for one in self.descendants if _is_alive(one)]) and time.monotonic() < end:
            time.sleep(0.01)
        return left


def _heed_hangups() -> None:
    """Let SIGHUP do what it does, also where the tests run with `nohup`."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found.setdefault(int(after_name[1]), []).append(int(stat.parent.name))
    return found


def _descendants(process: int) -> set[int]:
    children, found, new = _children(), set(), [process]
    while new:
        new = [one for parent in new for one in children.get(parent, [])]
        found.update(new)
    return found


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_of_a_bed_that_is_ended(number: signal.Signals, tmp_path: Path) -> None:
    before = {*Path("/tmp").glob("loadstone-bed-*")}
    begun = Begun(tmp_path / "begun")
    assert len(begun.descendants) >= 5, "keeper, first, shell and two that sleep"
    begun.process.send_signal(number)
    code = begun.process.wait(PATIENCE)
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    assert begun.left() == []
    assert not [path for path in begun.folders - before if path.exists()]


def test_a_command_that_does_not_end_when_it_should_is_killed(tmp_path: Path) -> None:
    begun = Begun(tmp_path / "begun", "trap '' TERM;")
    begun.process.send_signal(signal.SIGTERM)
    assert begun.process.wait(PATIENCE) == 128 + signal.SIGKILL
    assert begun.left() == []


def test_a_hangup_that_is_ignored_stays_so(tmp_path: Path) -> None:
    begun = Begun(tmp_path / "begun", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    begun.process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        begun.process.wait(A_SECOND)
    begun.process.send_signal(signal.SIGTERM)
    assert begun.process.wait(PATIENCE) == 128 + signal.SIGTERM


def test_nothing_is_left_when_the_terminal_is_closed(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()

    def take_terminal() -> None:
        import fcntl
        import termios

        _heed_hangups()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    begun = Begun(tmp_path / "begun", stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=take_terminal)
    os.close(theirs)
    os.close(ours)
    begun.process.wait(PATIENCE)
    assert begun.left() == []


def test_the_keys_of_a_terminal_reach_the_command_once(tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        script = "trap 'echo key' INT; echo ready; while :; do sleep 0.05; done"
        os.execv(LOADSTONE[0], [*LOADSTONE, "bed", "--network", "cable", "--", "sh", "-c", script])
    seen = _read_until(terminal, "ready")
    os.write(terminal, b"\x03")
    seen += _read_until(terminal, "key")
    time.sleep(0.3)
    os.kill(pid, signal.SIGTERM)
    seen += _read_until(terminal, None)
    os.waitpid(pid, 0)
    assert seen.count("key") == 1


def _read_until(terminal: int, wanted: str | None) -> str:
    seen = ""
    while wanted is None or wanted not in seen:
        try:
            data = os.read(terminal, 1000)
        except OSError:
            break
        if not data:
            break
        seen += data.decode()
    return seen


def test_what_a_command_leaves_running_ends_with_it() -> None:
    began = time.monotonic()
    result = shell("sleep 600 & echo done")
    assert (result.code, result.out) == (0, "done\n")
    assert time.monotonic() - began < PATIENCE


# --- without being root ---


@pytest.fixture
def nobody() -> Callable[..., Result]:
    need_nobody()
    return lambda tun_mode, *arguments: as_nobody(tun_mode, [*LOADSTONE, *arguments])


def test_nobody_has_a_bed_where_the_device_is_open_to_all(nobody: Callable[..., Result]) -> None:
    result = nobody("0666", "bed", SHOP, "--network", "cable", "--", "sh", "-c", "cat /etc/resolv.conf")
    assert (result.code, result.out) == (0, "nameserver 198.18.0.5\n")


def test_nobody_is_told_what_to_do_where_it_is_not(nobody: Callable[..., Result]) -> None:
    result = nobody("0600", "bed", "--network", "cable", "--", "true")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "'chmod 0666 /dev/net/tun'" in result.err
