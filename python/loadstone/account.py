"""Accounts: where the time of a load went, along the chain of events that it waited for."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone._native import Outcome

Account = dict[str, float]
"""Milliseconds by part, in the order of `PARTS`; they sum to the page load time."""


@dataclass(frozen=True)
class Part:
    """One part of an account, in words."""

    label: str
    spent: str
    """What follows `12 ms less`."""
    meaning: str


PARTS = {
    "handshakes": Part(
        "Handshakes", "in handshakes", "a new connection was being opened: the round trips of TCP and TLS"
    ),
    "waiting_for_connection": Part(
        "Waiting for a connection",
        "waiting for a connection",
        "an object was known, but every connection it could use was busy",
    ),
    "request_round_trips": Part(
        "Request round trips",
        "in request round trips",
        "a request was on its way to the server, and the beginning of the answer on its way back",
    ),
    "transfer": Part(
        "Transfer", "in transfer", "an answer was arriving, as fast as the link and TCP's window let it"
    ),
    "loss_recovery": Part(
        "Loss recovery", "in loss recovery", "packets had been lost, and the load waited for their repetition"
    ),
    "server": Part("Server", "on the server", "the server was preparing its answer"),
    "computing": Part(
        "Computing", "in computing", "the browser was parsing and running what it had received"
    ),
}
"""The parts of an account; the engine uses the same keys in the same order."""


def of_run(outcome: Outcome) -> Account | None:
    """Give the account of a run; `None` if the run was not completed."""
    account: Account | None = outcome.account()
    return account


def middle_runs(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Give the completed run whose page load time is the median, or the two around it."""
    ranked = sorted((run for run in outcomes if run.completed), key=lambda run: (run.plt_ms, run.seed))
    return ranked[(len(ranked) - 1) // 2 : len(ranked) // 2 + 1]


def of_median(outcomes: Sequence[Outcome]) -> Account | None:
    """Give the account of the median run (the mean of the two around it), which sums to the median."""
    accounts = [account for run in middle_runs(outcomes) if (account := of_run(run)) is not None]
    if not accounts:
        return None
    return {part: sum(account[part] for account in accounts) / len(accounts) for part in PARTS}
