"""Sweeps: matrices of loads into stores that survive."""

from loadstone.stores.matrix import Matrix
from loadstone.stores.store import Store
from loadstone.stores.sweep import Swept, collect, sweep

__all__ = ["Matrix", "Store", "Swept", "collect", "sweep"]
