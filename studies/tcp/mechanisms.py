# ruff: noqa: T201
"""What each mechanism of Linux 6's TCP is worth: page load times with it and without.

.venv/bin/python studies/tcp/mechanisms.py > studies/tcp/mechanisms.md
"""

import json
import statistics

from loadstone import experiment, pages
from loadstone._native import Scenario
from loadstone.pages import Page

WITHOUT = {
    "HyStart": {"hystart": False},
    "RACK": {"rack": False},
    "tail loss probes": {"tail_loss_probes": False},
    "F-RTO": {"frto": False},
    "undo": {"undo": False},
    "slow start reduction bound": {"reduction": "conservative"},
    "counting every segment": {"counting": "bytes-2"},
    "quick acknowledgements": {"quick_acks": False},
    "acknowledgements of one hole held back": {"sack_compression": False},
    "receive window that grows": {"window_tuning": False},
    "send buffer that grows": {"send_buffer": False},
    "restart after idleness": {"idle_restart": "never"},
    "shrinking of unused windows": {"unused_window_shrinks": False},
    "coarse timers": {"coarse_timers": False},
    "all of them (profile textbook)": None,
}
NETWORKS = ("20/2mbit,20ms", "10/1mbit,100ms", "10/1mbit,100ms,1%", "1.6mbit/768kbit,300ms")
LOADS = (("A", "http/1.1"), ("B", "h2"), ("C", "http/1.1"))
RUNS = 101


def median(page: Page, protocol: str, network: str, without: dict[str, object] | None) -> float:
    """Load the page, both ends lacking a mechanism; `None` is the textbook."""
    tcp = {"profile": "textbook"} if without is None else {"mechanisms": without}
    variant = {"protocol": protocol, "tls": "1.3", "tcp": tcp, "client_tcp": tcp}
    scenario = Scenario(json.dumps({"page": json.loads(page.json), "network": network, "variant": variant}))
    runs = RUNS if scenario.is_random else 1
    outcomes = experiment.execute([(scenario, seed) for seed in range(1, runs + 1)], None)
    return statistics.median(outcome.plt_ms for outcome in outcomes)


def main() -> None:
    """Print the table."""
    heads = [f"{name} {protocol}, {network}" for name, protocol in LOADS for network in NETWORKS]
    print("|", *(f"{head} |" for head in ["without", *heads]))
    print("|---|" + "---|" * len(heads))
    cells = [
        (pages.read(f"synthetic:{name}"), protocol, network)
        for name, protocol in LOADS
        for network in NETWORKS
    ]
    whole = [median(*cell, {}) for cell in cells]
    print(
        "|", *(f"{value} |" for value in ["nothing (profile linux-6), ms", *(f"{ms:,.0f}" for ms in whole)])
    )
    for name, without in WITHOUT.items():
        changes = [median(*cell, without) / ms - 1 for cell, ms in zip(cells, whole, strict=True)]
        print("|", *(f"{value} |" for value in [name, *(f"{change:+.1%}" for change in changes)]))


if __name__ == "__main__":
    main()
