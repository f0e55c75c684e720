"""The laboratory with something otherwise, and never silently the same."""

from collections.abc import Mapping
from dataclasses import replace

from loadstone.files import InputError
from loadstone.sweep.matrix import Matrix, Settings

NO_WORK = {"variant.work.response_us": None, "variant.work.megabyte_us": None}
"""Servers whose processor costs nothing."""


def without(matrix: Matrix, common: Settings, own: Settings) -> Matrix:
    """Change settings that all options have, and settings of single ones; `None` takes a setting out.

    Raises `InputError` where there is no such setting to change.
    """
    _check(matrix, common, matrix.common)
    _check(matrix, own, {name for settings in matrix.variants.values() for name in settings})
    variants = {option: _changed(settings, own) for option, settings in matrix.variants.items()}
    return replace(matrix, common=_changed(matrix.common, common), variants=variants)


def with_network(matrix: Matrix, old: str, new: str) -> Matrix:
    """Put `new` in the place of `old` in the network; raises `InputError` where `old` is not in it."""
    network = str(matrix.common["network"])
    if old not in network:
        raise InputError(f"{matrix.place}: network: there is no '{old}' in '{network}': change what there is")
    return replace(matrix, common={**matrix.common, "network": network.replace(old, new)})


def _check(matrix: Matrix, changes: Settings, known: Mapping[str, object] | set[str]) -> None:
    if missing := [name for name in changes if name not in known]:
        raise InputError(f"{matrix.place}: {missing[0]} is not set: change what is")


def _changed(settings: Mapping[str, object], changes: Settings) -> Settings:
    changed = {name: changes.get(name, value) for name, value in settings.items()}
    return {name: value for name, value in changed.items() if value is not None}
