"""How the study was set up, as far as it is the same here, and what nobody can test any more."""

from loadstone.reproduce.claims import Claims
from loadstone.reproduce.nsdi.loads import FLOWS
from loadstone.reproduce.nsdi.synthetic import Synthetic

_SAME = {
    "NS16": "4,096 bytes",
    "NS21": "profile linux-3.7 (CUBIC), SPDY/3, no TLS; server programs do not think",
    "NS22": "10 segments",
    "NS23": "6",
    "NS24": "5 runs, median",
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
    "NS18": _GONE,
    "NS19": _GONE,
    "NS20": _GONE,
    "NS60": _EMULATOR,
    "NS61": _EMULATOR,
}


def judge(swept: Synthetic, pages: int, claims: Claims) -> None:
    """Say of the set-up what is the same here, and what cannot be."""
    for claim, ours in _SAME.items():
        claims.same(claim, ours)
    claims.same("NS25", "from the first SYN to the last byte")
    claims.not_testable(
        "NS26",
        "the pages of 2013 are not at hand; those made here stand for them",
        f"{pages} pages of a stated distribution, all objects from one server",
    )
    combinations = len(swept.ratios("SPDY"))
    claims.number("NS27", combinations, "every combination of its table 1 was run", digits=0)
    for claim, why in _UNTESTABLE.items():
        claims.not_testable(claim, why)
