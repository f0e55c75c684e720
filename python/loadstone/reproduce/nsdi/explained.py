"""What was assumed, and what explains the results."""

from loadstone.reproduce.nsdi.synthetic import Synthetic
from loadstone.reproduce.results import Passage


def passages(swept: Synthetic) -> list[Passage]:
    """Give the explanations."""
    return []
