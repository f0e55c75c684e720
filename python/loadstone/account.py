"""Accounts: where the time of a load went, along the chain of events that it waited for."""

from dataclasses import dataclass

from loadstone._native import account_parts

Account = dict[str, float]
"""Milliseconds by part, in the order of `PARTS`; they sum to the page load time."""


@dataclass(frozen=True)
class Part:
    """One part of an account, in words."""

    label: str
    spent: str
    """What follows `12 ms less`."""
    meaning: str


PARTS = {name: Part(label, spent, meaning) for name, label, spent, meaning in account_parts()}
"""The parts of an account."""
