"""What says how the study was set up, what follows from that, and what cannot be tested here."""

from loadstone.analysis.training_set import Thresholds
from loadstone.reproduce.judge import Judge

from .laboratory import FLOWS

_SAME = {
    "NS16": "4,096 bytes",
    "NS21": "profile linux-3.7 (CUBIC), SPDY/3, no TLS; server programs do not think",
    "NS22": "10 segments",
    "NS23": "6",
    "NS24": "5 runs, median",
    "NS25": "from the first request to the last byte, for all loads",
    "NS29": f"{Thresholds().faster}",
    "NS30": f"{Thresholds().slower}",
    "NS31": f"{Thresholds().likelihood}",
    "NS54": f"{FLOWS} times",
    "NS55": f"{FLOWS} times",
    "NS56": f"a {FLOWS}th of the reduction",
}
_GONE = "Twitter's page of 2013 is not at hand"
_EMULATOR = (
    "it is about the study's own emulator; here a page, a network and a seed give the same bytes every time"
)
_UNTESTABLE = {
    "NS17": _GONE,
    "NS18": f"{_GONE}; the fifty flags are NS90",
    "NS19": _GONE,
    "NS20": _GONE,
    "NS60": _EMULATOR,
    "NS61": _EMULATOR,
}


def judge(combinations: int, pages: int, judge: Judge) -> None:
    """Say of the set-up what is the same here, and what cannot be."""
    for claim, ours in _SAME.items():
        judge.set_up(claim, ours)
    judge.set_up("NS27", f"{combinations:,}: every combination of table 1")
    judge.not_testable(
        "NS26",
        "the pages of 2013 are not at hand; those made here stand for them",
        f"{pages} pages of a stated distribution, all objects from one server",
    )
    for claim, why in _UNTESTABLE.items():
        judge.not_testable(claim, why)
