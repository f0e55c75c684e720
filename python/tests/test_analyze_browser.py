"""The report of `loadstone analyze` on a phone, in Chromium."""

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from conftest import Command

MATRIX = """
runs = 7
factors.objects = [4, 40]
factors.rtt = [20, 100]
factors.loss = [0, 2]
factors.protocol = ["http/1.1", "h2"]
common.page = "synthetic:objects={objects},size=8KB"
common.network = "5/1mbit,{rtt}ms,loss={loss}%"
analysis.compare = "protocol"
"""

PLACES = """() => [...document.querySelectorAll(".wide")].map(box => ({
    hidden: box.scrollWidth - box.clientWidth,
    hint: getComputedStyle(box, "::before").content,
    drawn: box.querySelector("svg") !== null,
}))"""


def edge(box: Any) -> set[tuple[int, ...]]:
    """Give the colours of the last column of pixels that a box shows."""
    shown = Image.open(io.BytesIO(box.screenshot())).convert("RGB")
    return {shown.getpixel((shown.width - 1, y)) for y in range(2, shown.height - 2)}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_a_phone_cannot_show_at_once_says_so(
    loadstone: Command, browser: Any, tmp_path: Path, scheme: str
) -> None:
    (tmp_path / "m.toml").write_text(MATRIX)
    assert loadstone("sweep", tmp_path / "m.toml", "-o", tmp_path / "m").code == 0
    assert loadstone("analyze", tmp_path / "m", "-o", tmp_path / "report").code == 0
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.goto((tmp_path / "report" / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    boxes = page.locator(".wide").all()
    places = page.evaluate(PLACES)
    assert sum(place["hidden"] > 0 for place in places) >= 3
    for box, place in zip(boxes, places, strict=True):
        if place["drawn"]:
            assert "sideways" in place["hint"]
        begun = edge(box)
        box.evaluate("box => box.scrollLeft = box.scrollWidth")
        # Lines of a table go to its edge; the shadow is gone, as it was never there where nothing is hidden.
        assert (begun != edge(box)) == (place["hidden"] > 0), place
    page.close()
