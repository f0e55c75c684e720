"""Studies print what is committed of them: the figures are the engine's, on any machine."""

import subprocess
import sys

from conftest import ROOT


def test_cablelabs_prints_its_committed_table() -> None:
    folder = ROOT / "studies" / "cablelabs"
    printed = subprocess.run([sys.executable, folder / "spdy.py"], capture_output=True, text=True, check=True)
    assert printed.stdout == (folder / "spdy.md").read_text(), "the figures have moved: print them anew"
