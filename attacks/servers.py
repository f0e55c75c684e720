"""The servers that are attacked: how they are started and ended, and what the system says of them."""

import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from attacks.protocol import LARGE, UPLOAD

STARTS_WITHIN = 20.0
UNCLOSED = ("01", "08")
"""ESTABLISHED and CLOSE_WAIT in /proc/net/tcp."""


@dataclass(frozen=True)
class Running:
    """A server that runs: its process with those that it started, and where it listens."""

    process: subprocess.Popen[bytes]
    port: int

    @property
    def alive(self) -> bool:
        """Whether the attack has not ended it."""
        return self.process.poll() is None

    @property
    def pids(self) -> list[int]:
        """Give its process and the children of it."""
        pid = self.process.pid
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    @property
    def seconds(self) -> float:
        """Give the processor time that it has taken."""
        # A process's clock, numbered as by clock_getcpuclockid(3): /proc/PID/stat, but in nanoseconds.
        return sum(time.clock_gettime(~pid << 3 | 2) for pid in self.pids)

    @property
    def resident(self) -> int:
        """Give the bytes of memory that it has."""
        return self._status("VmRSS")

    @property
    def peak(self) -> int:
        """Give the most bytes of memory that it had since `forget_peak`."""
        return self._status("VmHWM")

    @property
    def connections(self) -> int:
        """Count the connections of clients that it has not closed."""
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
        sockets = (line.split()[1:4:2] for line in lines)
        return sum(end.endswith(f":{self.port:04X}") and state in UNCLOSED for end, state in sockets)

    def forget_peak(self) -> None:
        """Let the peak be what there is now."""
        for pid in self.pids:
            Path(f"/proc/{pid}/clear_refs").write_text("5")

    def _status(self, field: str) -> int:
        lines = [line for pid in self.pids for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


Options = Callable[[Path, int, str], list[str]]
"""What a program is given to serve by a protocol at a port; it may write into the folder."""


@dataclass(frozen=True)
class Server:
    """A server's name, its program, and the protocols that it speaks without TLS."""

    name: str
    program: tuple[str, ...]
    protocols: tuple[str, ...]
    options: Options

    @property
    def version(self) -> str:
        """Give what it says of itself."""
        asked = [*self.program, "-v" if self.name == "nginx" else "--version"]
        # nginx says it on its standard error.
        said = subprocess.run(asked, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        found = re.search(r"\d+(\.\d+)+", said.stdout)
        return f"{self.name} {found[0] if found else '?'}"

    @contextmanager
    def running(self, folder: Path, protocol: str) -> Iterator[Running]:
        """Run it until it is needed no more."""
        port = _free_port()
        command, quiet = [*self.program, *self.options(folder, port, protocol)], subprocess.DEVNULL
        # A group of its own: Ctrl-C is for the attacker, who ends it.
        process = subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True)
        try:
            _wait_until_it_listens(process, port)
            yield Running(process, port)
        finally:
            # With its workers, and at once: there is nothing left to finish. An attack may have ended it.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def ours(loadstone: Sequence[str]) -> Server:
    """Give `loadstone serve`."""

    def options(folder: Path, port: int, protocol: str) -> list[str]:
        listen = ["--plaintext", "--protocol", protocol, "--listen", f"127.0.0.1:{port}"]
        return ["serve", str(folder / "site"), "--patterns", *listen]

    return Server("loadstone", tuple(loadstone), ("h2", "spdy/3.1", "http/1.1"), options)


def found(loadstone: Sequence[str]) -> list[Server]:
    """Give the servers of files that are here, ours first."""
    nghttpd = installed("nghttpd", ("h2",), _nghttpd)
    nginx = installed("nginx", ("h2", "http/1.1"), _nginx)
    return [ours(loadstone), *nghttpd, *nginx]


def installed(name: str, protocols: tuple[str, ...], options: Options) -> list[Server]:
    """Give a server if its program is here."""
    # Debian has them where only root looks.
    program = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    return [Server(name, (program,), protocols, options)] if program else []


def make_site(folder: Path) -> None:
    """Write the files that are served."""
    site = folder / "site"
    site.mkdir()
    (site / "index.html").write_text("hello\n")
    with (site / LARGE.strip("/")).open("wb") as file:
        file.truncate(64 << 20)


def nginx_options(folder: Path, http: str) -> list[str]:
    """Let nginx run with one worker and this in its `http` block."""
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{place}_temp_path {folder}/{place};" for place in places)
    user = f"user {pwd.getpwuid(os.geteuid()).pw_name};" if os.geteuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"{user} daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log nginx.log;\n"
        "events { worker_connections 4096; }\n"
        f"http {{ access_log off; {temporary}\n{http} }}\n"
    )
    return ["-p", str(folder), "-e", "nginx.log", "-c", str(configuration)]


def nginx_listens(port: int, protocol: str) -> str:
    """Let it listen for a protocol without TLS."""
    return f"listen 127.0.0.1:{port}{' http2' if protocol == 'h2' else ''};"


def _nginx(folder: Path, port: int, protocol: str) -> list[str]:
    # Who passes a body on has to read it first. There is nobody to whom it is passed: no attack's body ends.
    upload = f"location {UPLOAD} {{ proxy_pass http://127.0.0.1:1; }}"
    server = f"{nginx_listens(port, protocol)} root {folder}/site; {upload}"
    return nginx_options(folder, f"server {{ {server} }}")


def _nghttpd(folder: Path, port: int, _protocol: str) -> list[str]:
    return ["--no-tls", "--echo-upload", "-a", "127.0.0.1", "-d", str(folder / "site"), str(port)]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + STARTS_WITHIN
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"attacks: it does not listen: {process.args!r}") from None
            time.sleep(0.02)
