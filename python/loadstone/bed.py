"""Any command behind a link: what it sees of files and names, its life, what the link saw."""

import fcntl
import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone._native import BedCommand, CommandBed, LoadstoneError, RecordedSite, live_access
from loadstone.experiment import Cell, refusal
from loadstone.files import InputError
from loadstone.pages import Page
from loadstone.simulated_edge import Passage, SimulatedEdge, checked_backhaul

NOT_FOUND, NOT_RUN = 127, 126
"""The exit codes of a shell for a program that is not there, and for one that cannot be run."""
SERVER = "server"
"""The name of the host on which a program of the user's own serves."""
EDGE = "edge"
"""The name of the host between two links."""

_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
"""What OpenSSL, GnuTLS and Go trust on Debian and its kin."""
_HOSTS = "/etc/hosts"
_NAMES = {
    "/etc/nsswitch.conf": "hosts: files dns\npasswd: files\ngroup: files\nservices: files\n",
    _HOSTS: "127.0.0.1 localhost\n",
}
"""Files that say how names are resolved, as the command sees them: by the name server alone."""
_OTHER_RESOLVERS = ("/run/nscd", "/run/systemd/resolve")
"""Directories with the sockets of services that would answer instead."""
_TO_THE_COMMAND = {
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
}
_KEYS = {signal.SIGINT, signal.SIGQUIT}
"""What the keys of a terminal send to the command as well."""
_BY_KERNEL = 0x80
_LAST = {signal.SIGTERM, signal.SIGHUP}
"""After one of these the command has a moment to end by itself."""
_MOMENT = 0.02
"""Seconds after which it looks again."""
_GRACE = 25
"""How many of these a command has to end by itself."""
_UNRELIABLE = 0.05
"""The share of its time during which the machine may stand still before figures are not reliable."""
_SHORT_MS = 10.0
"""A pause that is too short to matter."""


def page_of(recordings: Sequence[Page]) -> Page:
    """Make one page of the objects of several, each URL once, as it is first: for servers to serve."""
    if len(recordings) == 1:
        return recordings[0]
    objects: dict[str, dict[str, Any]] = {}
    hosts: dict[str, Any] = {}
    for one in recordings:
        document = json.loads(one.json)
        for item in document["objects"]:
            served = {name: item[name] for name in item if name not in _OF_GRAPHS}
            objects.setdefault(item["url"], served)
        hosts = document.get("hosts", {}) | hosts
    merged = {"objects": [*objects.values()], **({"hosts": hosts} if hosts else {})}
    return Page.of(merged, ", ".join(one.name for one in recordings))


_OF_GRAPHS = {"needs", "name", "kind_of_need"}
"""What an object of a page file says of others."""


def empty_page() -> Page:
    """Make the page of a bed whose server is a program of the user's own."""
    return Page.of({"objects": [{"url": f"http://{SERVER}/", "bytes": 0}]}, SERVER)


def behind_edge(page: Page, backhaul: str) -> dict[str, Any]:
    """Give hosts and links where all of a page's servers are behind an edge, over the network `backhaul`."""
    names = page.content.names_and_hosts()
    origins = {host: f"http://{host}" for _, host in names}
    return SimulatedEdge(EDGE, origins, checked_backhaul("--backhaul", backhaul)).topology(Passage.COLD, page)


def protocols_of(recordings: Sequence[Page]) -> dict[str, str]:
    """Say what each host spoke when it was recorded, where that is known."""
    spoken: dict[str, str] = {}
    for one in recordings:
        spoken = one.protocols | spoken
    return spoken


@dataclass(frozen=True)
class Announced:
    """What the servers of a recording tell clients of that these have not asked for."""

    manifest: str | None = None
    """With which response, of what, in JSON (docs/serving.md)."""
    is_hinted: bool = False
    """Whether it is hinted at instead of pushed."""


@dataclass(frozen=True)
class Sight:
    """What a command sees otherwise than this process."""

    environment: Mapping[str, str]
    instead: Sequence[tuple[str, str]]
    """Files in the place of others: what, and where."""
    folder: Path
    """Where these files are; it is gone with the bed."""
    ca: Path
    """The certificate that clients have to trust, in PEM."""


@dataclass
class Bed:
    """Hosts behind a link, with servers and names, for commands at the client's place."""

    native: CommandBed
    sight: Sight
    ended: dict[str, Any] = field(default_factory=dict)

    def start(self, words: Sequence[str], more: Mapping[str, str] | None = None) -> BedCommand:
        """Start a command, with more variables in its environment."""
        environment = {**self.sight.environment, **(more or {})}
        return self.native.start([*words], [*environment.items()], [*self.sight.instead], self.sight.folder)

    def serve(self, command: str) -> None:
        """Start a command at the server's place, by a shell. $SERVER_CERT and $SERVER_KEY prove its name."""
        self._serve(command, [SERVER], self.sight.instead)

    def relay(self, command: str) -> None:
        """Start a command on the edge, by a shell: clients find it by the servers' names, and it finds these.

        $SERVER_CERT and $SERVER_KEY prove their names.
        """
        known = self.sight.folder / "hosts.edge"
        servers = [(name, address) for name, address, _ in self.native.hosts]
        known.write_text(_NAMES[_HOSTS] + "".join(f"{address} {name}\n" for name, address in servers))
        instead = [*(one for one in self.sight.instead if one[1] != _HOSTS), (str(known), _HOSTS)]
        self._serve(command, [name for name, _ in servers], instead)

    def _serve(self, command: str, names: Sequence[str], instead: Sequence[tuple[str, str]]) -> None:
        environment = {**self.sight.environment, **_proof(self.native, names, self.sight.folder)}
        words = ["sh", "-c", command]
        self.native.start_server(words, [*environment.items()], [*instead], self.sight.folder)


def _proof(native: CommandBed, names: Sequence[str], folder: Path) -> dict[str, str]:
    """Give the files by which a server proves its names, as variables of its environment."""
    chain, key = native.identity(names)
    files = {"SERVER_CERT": folder / "server.pem", "SERVER_KEY": folder / "server-key.pem"}
    files["SERVER_CERT"].write_text("".join(ssl.DER_cert_to_PEM_cert(one) for one in chain))
    text = ssl.DER_cert_to_PEM_cert(key).replace("CERTIFICATE", "PRIVATE KEY")
    files["SERVER_KEY"].write_text(text)
    return {name: str(path) for name, path in files.items()}


@contextmanager
def opened(
    cell: Cell,
    server: str | None = None,
    capture: str | None = None,
    site: RecordedSite | None = None,
    announced: Announced | None = None,
    edge: str | None = None,
) -> Iterator[Bed]:
    """Make the bed of a scenario, on which a command may run; `ended` is what it saw, when it is closed.

    `server` is a command of the user's own, for a shell, that serves instead of a recording's servers;
    `edge` is one that is met instead of them, where the topology is that of `behind_edge`; `capture` is a
    file for the client's packets; `site` has the bodies of what is served, `announced` is what servers tell
    ahead.
    """
    if why_not := live_access():
        raise InputError(f"loadstone bed: {why_not}")
    temporary = tempfile.TemporaryDirectory(prefix="loadstone-bed-")
    with temporary as folder, _place_for(_nss_folder()) as has_nss:
        try:
            told = announced or Announced()
            native = CommandBed(cell.scenario, server is None, capture, site, told.manifest, told.is_hinted)
            bed = Bed(native, _sight(native, Path(folder), has_nss=has_nss))
            if server is not None:
                bed.serve(server)
            if edge is not None:
                bed.relay(edge)
            yield bed
            bed.ended.update(json.loads(native.finish()))
        except LoadstoneError as error:
            raise refusal(error) from None


def _sight(native: CommandBed, folder: Path, *, has_nss: bool) -> Sight:
    ca = folder / "ca.pem"
    ca.write_text(ssl.DER_cert_to_PEM_cert(native.root))
    bundle = folder / "ca-certificates.crt"
    known = Path(_BUNDLE).read_text() if Path(_BUNDLE).exists() else ""
    bundle.write_text(known + ca.read_text())
    texts = {**_NAMES, "/etc/resolv.conf": f"nameserver {native.name_server}\n"}
    instead = [(_written(folder, where, text), where) for where, text in texts.items() if _is_there(where)]
    if has_nss and (database := _nss(folder, ca)) is not None:
        instead.append((str(database), _nss_folder()))
    if _is_there(_BUNDLE):
        instead.append((str(bundle), _BUNDLE))
    nothing = folder / "nothing"
    nothing.mkdir()
    instead += [(str(nothing), where) for where in _OTHER_RESOLVERS if _is_there(where)]
    environment = {"SSL_CERT_FILE": str(bundle), "NODE_EXTRA_CA_CERTS": str(ca)}
    return Sight(environment, instead, folder, ca)


def _nss_folder() -> str:
    """Give where Chromium has what its user trusts."""
    return str(Path.home() / ".pki/nssdb")


def _nss(folder: Path, ca: Path) -> Path | None:
    """Make what Chromium trusts, where there is a program for that."""
    certutil = shutil.which("certutil")
    if certutil is None:
        return None
    database = folder / "nssdb"
    database.mkdir()
    make, add = ["-N", "--empty-password"], ["-A", "-n", "Loadstone", "-t", "C,,", "-i", str(ca)]
    for words in (make, add):
        subprocess.run([certutil, *words, "-d", f"sql:{database}"], check=True, capture_output=True)
    return database


@contextmanager
def _place_for(folder: str) -> Iterator[bool]:
    """See that there is a folder to put something in place of, if that can be.

    If nothing is in it, the last bed takes it away: with it would go what other beds have put in its place.
    """
    place = Path(folder)
    try:
        users = os.open(place.parents[1], os.O_RDONLY)
    except OSError:
        yield False
        return
    fcntl.flock(users, fcntl.LOCK_SH)
    try:
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
        yield place.is_dir()
    finally:
        with suppress(OSError):
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            place.rmdir()
            place.parent.rmdir()
        os.close(users)


def _is_there(path: str) -> bool:
    if path == "/etc/resolv.conf" and not Path(path).exists():
        raise InputError(f"{path}: is missing, so no name server can be put in its place: make an empty one")
    return Path(path).exists()


def _written(folder: Path, where: str, text: str) -> str:
    path = folder / Path(where).name
    path.write_text(text)
    return str(path)


# --- the life of a command ---


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold signals back, in this thread and in those that it starts, so that they go to the command."""
    # What is ignored stays so, as SIGHUP is with `nohup`.
    held = {one for one in _TO_THE_COMMAND if signal.getsignal(one) is not signal.SIG_IGN}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run(bed: Bed, words: Sequence[str], more: Mapping[str, str] | None = None) -> int:
    """Run a command until it ends: its exit code. Signals are its own; they have to be held."""
    try:
        command = bed.start(words, more)
    except FileNotFoundError:
        raise NoProgramError(f"{words[0]}: there is no such program", NOT_FOUND) from None
    except OSError as error:
        raise NoProgramError(f"{words[0]}: {error}", NOT_RUN) from None
    left = None
    while not command.is_finished:
        came = signal.sigtimedwait(_TO_THE_COMMAND, _MOMENT)
        if came is not None and not (came.si_code == _BY_KERNEL and came.si_signo in _KEYS):
            command.signal(came.si_signo)
            if came.si_signo in _LAST and left is None:
                left = _GRACE
        elif left is not None:
            # Not by a clock: it goes on while the machine stands still.
            left -= 1
            if left <= 0:
                command.signal(signal.SIGKILL)
    return command.wait()


class NoProgramError(InputError):
    """The command cannot be run."""

    def __init__(self, why: str, code: int) -> None:
        """Say why not, and with which exit code a shell would say so."""
        super().__init__(why)
        self.code = code


def unreliable(ended: Mapping[str, Any]) -> str:
    """Say so if the machine stood still for too long; else nothing."""
    machine = ended["machine"]
    share = machine["paused_ms"] / max(machine["ms"] + machine["paused_ms"], 1)
    if share <= _UNRELIABLE or machine["paused_ms"] < _SHORT_MS:
        return ""
    return (
        f"the machine stood still for {share:.0%} of the time, {machine['longest_pause_ms']:.0f} ms at most: "
        "times are not reliable; free it and run again"
    )
