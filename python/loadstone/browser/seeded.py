"""Scripts by which a page does the same in each load: seeded randomness, and the time of its recording.

They are run in documents and workers and change no byte of what is served (`injection`).
"""

from functools import cache
from pathlib import Path
from time import time

SEED = 1
"""What randomness comes from, in recordings and in loads of them."""


def scripts(recorded_at: float | None = None, seed: int = SEED) -> list[str]:
    """Give what is run in a load that begins now, and for whose page it is `recorded_at` then.

    That is in seconds since 1970; without it, the time stays as it is.
    """
    shift = 0 if recorded_at is None else round((recorded_at - time()) * 1e3)
    return [f"{_source()}({seed}, {shift})"]


@cache
def _source() -> str:
    return Path(__file__).with_suffix(".js").read_text().rstrip()
