"""The walk-through is what happens: as a page of commands, and as a notebook."""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import EXAMPLES, ROOT


def test_the_walk_through_shows_what_its_commands_say() -> None:
    check = [sys.executable, ROOT / "scripts" / "walkthrough", "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# Jupyter's own parts warn about each other.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_notebook_runs(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "shop.har", tmp_path / "my.har")
    notebook = nbformat.read(ROOT / "docs" / "walkthrough.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "committed without outputs"
    client = NotebookClient(notebook, timeout=120, kernel_name="python3")
    client.execute(cwd=str(tmp_path))
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/svg+xml" in output.get("data", {}) for output in shown)
    assert (tmp_path / "my" / "matrix.json").exists()
