"""Why a variant wins, from accounts that are made up."""

import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Command
from loadstone import account, reason, text
from loadstone.account import PARTS
from loadstone.comparison import NetworkResult, VariantResult


@dataclass
class Run:
    """A run that took what its account says."""

    parts: dict[str, float] = field(default_factory=dict)
    seed: int = 1
    completed: bool = True

    @property
    def plt_ms(self) -> float:
        return sum(self.account().values())

    def account(self) -> dict[str, float]:
        return {**dict.fromkeys(PARTS, 0.0), **self.parts}


def variant(name: str, *runs: Run, random: bool = False) -> VariantResult:
    cell: Any = SimpleNamespace(
        network="n", scenario=SimpleNamespace(is_random=random), variant={"protocol": name.split(" ")[0]}
    )
    return VariantResult(name, cell, list(runs), None)


def sentence(*variants: VariantResult, best: int = 0, rivals: tuple[str, ...] = ()) -> str | None:
    return reason.sentence(NetworkResult("n", list(variants), variants[best], list(rivals)))


BASE = variant(
    "h1 IW 3", Run({"waiting_for_connection": 405, "handshakes": 360, "transfer": 133, "loss_recovery": 0})
)


def test_the_winner_is_explained_against_the_baseline() -> None:
    h2 = variant(
        "h2 IW 10",
        Run({"waiting_for_connection": 200, "handshakes": 200, "transfer": 133, "loss_recovery": 53}),
    )
    assert sentence(BASE, h2, best=1) == (
        "h2 IW 10 saves 312 ms against h1 IW 3: 205 ms less waiting for a connection and 160 ms less in "
        "handshakes, against 53 ms more in loss recovery."
    )


def test_a_baseline_that_wins_is_explained_against_another_protocol() -> None:
    sibling = variant("h1 IW 10", Run({"transfer": 900}))
    h2 = variant("h2 IW 3", Run({"transfer": 950}))
    assert sentence(BASE, sibling, h2) is not None
    assert "against h2 IW 3, the best of another protocol: " in sentence(BASE, sibling, h2)
    assert "against h1 IW 10, the next best: " in sentence(BASE, sibling)


def test_alone_or_without_accounts_there_is_no_reason() -> None:
    assert sentence(BASE) is None
    assert sentence(variant("h1", Run(completed=False)), variant("h2", Run({"transfer": 5})), best=1) is None
    unaccounted: Any = SimpleNamespace(seed=1, completed=True, plt_ms=20.0, account=lambda: None)
    assert sentence(BASE, variant("h2", unaccounted), best=1) is None
    assert reason.sentence(NetworkResult("n", [BASE], None, [])) is None


def test_what_chance_may_explain_is_said() -> None:
    h2 = variant("h2 IW 3", Run({"handshakes": 700}), random=True)
    base = variant("h1 IW 3", Run({"handshakes": 710}), random=True)
    assert sentence(base, h2, best=1, rivals=("h1 IW 3",)) == (
        "In the median runs h2 IW 3 saves 10 ms against h1 IW 3, which chance alone may explain, "
        "all of it in handshakes."
    )


def test_of_equals_nothing_is_claimed() -> None:
    other = variant("h2 IW 3", Run({"handshakes": 300, "transfer": 598}))
    assert sentence(BASE, variant("h2", *BASE.outcomes)) == (
        "h1 IW 3 and h2 take equally long to the millisecond, part by part."
    )
    assert sentence(BASE, other) == (
        "h1 IW 3 and h2 IW 3 take equally long to the millisecond: 465 ms less in transfer, against "
        "405 ms more waiting for a connection and 60 ms more in handshakes."
    )


def test_a_winner_that_is_slower_won_by_completing() -> None:
    base = variant("h1", Run({"transfer": 100}), Run(completed=False))
    h2 = variant("h2", Run({"transfer": 300}), Run({"transfer": 310}))
    assert sentence(base, h2, best=1) == (
        "h2 is best because 2 of 2 of its runs were completed, against 1 of 2 of h1."
    )


def test_parts_that_are_nothing_by_themselves_are_not_named() -> None:
    slow = variant("h1", Run(dict.fromkeys(PARTS, 20.0)))
    fast = variant("h2", Run(dict.fromkeys(PARTS, 19.9)))
    # 140 and 139.3 are shown as 140 and 139.
    assert sentence(slow, fast, best=1) == "h2 saves 1 ms against h1, spread over several parts."
    more = variant("h3", Run({**dict.fromkeys(PARTS, 19.7), "server": 10.0}))
    assert sentence(slow, more, best=1) == (
        "h3 saves 12 ms against h1: 10 ms less on the server and 2 ms less elsewhere."
    )


@pytest.mark.parametrize(
    ("times", "middle"), [([5], [5]), ([9, 1, 5], [5]), ([1, 9, 5, 2], [2, 5]), ([], []), ([4, 4], [4, 4])]
)
def test_the_account_is_the_median_run_s(times: list[int], middle: list[int]) -> None:
    runs: list[Any] = [Run({"transfer": ms}, seed) for seed, ms in enumerate(times)]
    runs.append(Run({"transfer": 3}, 99, completed=False))
    assert [run.plt_ms for run in account.middle_runs(runs)] == middle
    found = account.of_median(runs)
    assert found == ({**dict.fromkeys(PARTS, 0.0), "transfer": sum(middle) / len(middle)} if middle else None)


MS = st.one_of(st.just(0.0), st.floats(0, 3), st.floats(0, 5000), st.integers(0, 900))
ACCOUNTS = st.fixed_dictionaries(dict.fromkeys(PARTS, MS))
NUMBER = re.compile(r"([\d,]+(?:\.\d)?) ms (less|more) ([a-z ]+?)(?=,| and |\.|$)")


@given(ACCOUNTS, ACCOUNTS)
def test_the_numbers_never_contradict_one_another(first: dict[str, float], second: dict[str, float]) -> None:
    fast, slow = sorted([Run(first), Run(second)], key=lambda run: run.plt_ms)
    said = sentence(variant("a", slow), variant("b", fast), best=1)
    assert said is not None
    named = [
        (float(ms.replace(",", "")) * (1 if sign == "less" else -1), what)
        for ms, sign, what in NUMBER.findall(said)
    ]
    total = re.search(r"saves ([\d,.]+) ms", said)
    shown = 0.0 if total is None else float(total[1].replace(",", ""))
    # What is named sums to the total, and the total is the difference of the medians as they are shown.
    if named:
        assert sum(ms for ms, _ in named) == pytest.approx(shown, abs=1e-6)
    else:
        assert any(words in said for words in ("part by part", "all of it", "spread over several parts"))
    step = 1.0 if fast.plt_ms >= 100 else 0.1
    difference = [float(text.ms(run.plt_ms).split()[0].replace(",", "")) for run in (slow, fast)]
    if step == 1.0:
        assert shown == difference[0] - difference[1]
    for ms, what in named:
        assert ms != 0
        for part, words in PARTS.items():
            if words.spent == what:
                exact = slow.account()[part] - fast.account()[part]
                assert abs(ms - exact) < 1.001 * step
                assert ms * exact > 0


def test_compare_says_why(loadstone: Command, small: str) -> None:
    arguments = ("compare", small, "--runs", "6")
    networks = loadstone(*arguments, "--json").document["pages"][0]["networks"]
    blocks = loadstone(*arguments).out.split("\n\n")
    for network, block in zip(networks, blocks, strict=True):
        assert network["reason"] in " ".join(block.split("\n"))
        after_verdict = block.strip().split("\n")[len(network["variants"]) + 3 :]
        assert after_verdict and max(map(len, after_verdict)) <= 100
        for variant in network["variants"]:
            assert list(variant["account"]) == list(PARTS)
            assert sum(variant["account"].values()) == pytest.approx(variant["median_plt_ms"], abs=1e-3)
