"""A connection on which an attacker sends, and the loop that drives many of them."""

import select
import socket
import time
from collections.abc import Callable, Sequence

from attacks.protocol import Heard, Protocol

Pace = Callable[[int, Heard], bool]
"""Whether the piece of this number may go out, by what was heard."""
BUFFER = 32_768
"""Bytes that wait in the attacker's system; what a server does not read is hardly counted as sent."""


def at_once(number: int, heard: Heard) -> bool:
    """Send all as fast as it is taken."""
    return True


class Client:
    """Sends pieces of bytes as its pace allows, and notes what comes back."""

    def __init__(
        self, port: int, protocol: Protocol, pieces: Sequence[bytes], pace: Pace = at_once, reads: bool = True
    ) -> None:
        self.heard = Heard()
        self.sent = 0
        self.stopped = False
        """Whether it sends no more, though there is something left."""
        self._protocol, self._pieces, self._pace = protocol, pieces, pace
        self._number, self._offset = 0, 0
        self._came = bytearray()
        self._reads = reads
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        if not reads:
            # What does not fit here waits in the server.
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setblocking(False)

    @property
    def open(self) -> bool:
        """Whether the server has not closed the connection."""
        return self.heard.closed is None

    @property
    def done(self) -> bool:
        """Whether there is nothing more to send."""
        return not self.open or self._number == len(self._pieces)

    @property
    def wants_to_read(self) -> bool:
        """Whether it looks at what the server says."""
        return self._reads and self.open

    @property
    def wants_to_write(self) -> bool:
        """Whether there is something that may be sent now."""
        return not self.done and not self.stopped and self._pace(self._number, self.heard)

    def read(self) -> None:
        """Take what came."""
        try:
            data = self.socket.recv(8 * BUFFER)
        except BlockingIOError:
            return
        except OSError:
            self.heard.closed = "reset"
            return
        if not data:
            self.heard.closed = "closed"
        self._came += data
        self._protocol.hear(self._came, self.heard)

    def write(self) -> None:
        """Send as much of a piece as the kernel takes."""
        piece = memoryview(self._pieces[self._number])
        try:
            taken = self.socket.send(piece[self._offset : self._offset + BUFFER])
        except BlockingIOError:
            return
        except OSError:
            # What the server said before it closed is still there to be read, sometimes.
            self.read()
            self.heard.closed = self.heard.closed or "reset"
            return
        self.sent += taken
        self._offset += taken
        if self._offset == len(piece):
            self._number, self._offset = self._number + 1, 0


def turn(clients: Sequence[Client]) -> None:
    """Let each send and read once, or wait a little if none can."""
    readers = {client.socket: client for client in clients if client.wants_to_read}
    writers = {client.socket: client for client in clients if client.wants_to_write}
    if not readers and not writers:
        time.sleep(0.01)
        return
    readable, writable, _ = select.select(readers, writers, [], 0.02)
    for ready in readable:
        readers[ready].read()
    for ready in writable:
        if writers[ready].open:
            writers[ready].write()
