"""Studies print what is committed of them: the figures are the engine's, on any machine."""

import subprocess
import sys

import pytest

from conftest import ROOT


@pytest.mark.parametrize(
    "study", ["cablelabs/ablation", "tcp/mechanisms", "tcp/both_worlds", "tcp/pairs", "validation/moved"]
)
def test_a_study_prints_its_committed_table(study: str) -> None:
    script = ROOT / "studies" / f"{study}.py"
    printed = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert printed.stdout == script.with_suffix(".md").read_text(), "the figures have moved: print them again"
