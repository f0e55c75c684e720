"""Sweeps: matrices of loads into stores that survive."""

from loadstone.sweep.matrix import Matrix
from loadstone.sweep.store import Store
from loadstone.sweep.sweep import Swept, collect, sweep

__all__ = ["Matrix", "Store", "Swept", "collect", "sweep"]
