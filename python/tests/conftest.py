import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from loadstone import cli

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Result]


@pytest.fixture
def loadstone(capfd: pytest.CaptureFixture[str]) -> Command:
    """Run the command in this process: arguments in, exit code and both outputs out."""

    def run(*arguments: str) -> Result:
        with pytest.raises(SystemExit) as stop:
            cli.main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Result(stop.value.code, out, err)

    return run


@pytest.fixture
def small(tmp_path: Path) -> str:
    """Write a page of five objects on two hosts."""
    objects = [{"url": "https://a.test/", "bytes": 12_800}]
    objects += [{"url": f"https://{host}.test/{n}.png", "bytes": 9_000} for host in "ab" for n in (1, 2)]
    path = tmp_path / "small.page.json"
    path.write_text(json.dumps({"objects": objects}))
    return str(path)
