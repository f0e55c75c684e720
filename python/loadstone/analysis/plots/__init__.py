"""Plots of a store of runs, each of which answers a question."""
