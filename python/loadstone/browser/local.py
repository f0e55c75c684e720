"""Programs that run on this machine's own network, beside those on a bed."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from loadstone.browser.chromium import NAMES, Chromium
from loadstone.files import InputError


class LocalProcess:
    """A program that is running here, with all that it has started."""

    def __init__(self, words: Sequence[str]) -> None:
        # A group of its own: keys of the terminal go to us, who end it in order.
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)

    @property
    def is_finished(self) -> bool:
        """Say whether it has ended."""
        return self._process.poll() is not None

    def signal(self, number: int) -> None:
        """Give it a signal, and all of its group."""
        if self._process.returncode is None or number == signal.SIGKILL:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def wait(self) -> int:
        """Wait for its end: its exit code."""
        return self._process.wait()


def program(given: str | None = None) -> str:
    """Give where Chromium is: what the user names, else the first that is known."""
    for name in [given] if given is not None else NAMES:
        if found := shutil.which(name):
            return found
    if given is not None:
        raise InputError(f"{given}: there is no such program: give Chromium's or Chrome's")
    raise InputError(
        "no Chromium here: install it (Debian: apt install chromium), or name one with --chromium"
    )


@contextmanager
def started(path: str, switches: Sequence[str] = ()) -> Iterator[Chromium]:
    """Start a Chromium without a window, with further switches; its profile is gone with it."""
    temporary = tempfile.TemporaryDirectory(prefix="loadstone-chromium-", ignore_cleanup_errors=True)
    with (
        temporary as folder,
        Chromium.start(path, Path(folder), LocalProcess, switches=switches) as chromium,
    ):
        yield chromium
