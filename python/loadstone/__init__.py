"""The laboratory for web page load time."""

from loadstone._native import LoadstoneError, Outcome, Scenario, __version__, networks, protocols, run_many

__all__ = ["LoadstoneError", "Outcome", "Scenario", "__version__", "networks", "protocols", "run_many"]
