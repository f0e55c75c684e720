"""Expressions that a user writes: a small part of Python that computes and compares, and reaches no more."""

from collections.abc import Sequence
from typing import Any

from loadstone.files import InputError
from loadstone.grammar import Call, Comparison, Kind, Reader, Values

__all__ = ["Call", "Comparison", "Condition", "Expression", "Kind", "Values"]


class Expression:
    """An expression that can be computed as often as there are values for its names.

    It knows numbers, texts in quotes, true and false, + - * / %, comparisons and chains of them, lists behind
    `in`, `and`, `or`, `not`, names, and functions of one name each, which is not looked up: `plt(http/1.1)`.
    Numbers are compared with numbers and texts with texts; texts have no order, because "100ms" would come
    before "20ms". Whatever else it is given is an `InputError`, as early as it can be known.
    """

    def __init__(
        self, text: str, place: str, names: Sequence[str] = (), functions: Sequence[str] = ()
    ) -> None:
        """Read `text`, which stands at `place` and may speak of these names and functions."""
        self.text = " ".join(text.split())
        self._reader = Reader(text, place, tuple(names), tuple(functions))
        self._whole = self._reader.read()
        self.spellings = self._reader.calls
        """What it asks of functions, by how that is written; not what stands within another call."""
        self.calls = tuple(dict.fromkeys(self.spellings.values()))
        """The same, each once."""

    @property
    def kind(self) -> Kind:
        """Say what it stands for."""
        return self._whole.kind

    def value(self, values: Values) -> Any:
        """Compute it. `values` has each of the names and calls that it speaks of."""
        return self._whole.value(values)

    def deciding(self, values: Values) -> list[Comparison]:
        """Give the comparisons that made it true, or made it false: none where it was something else."""
        return self._whole.deciding(values)


class Condition(Expression):
    """An expression that is true or false."""

    def __init__(
        self, text: str, place: str, names: Sequence[str] = (), functions: Sequence[str] = ()
    ) -> None:
        """Read `text`; one that stands for a number or a text is refused."""
        super().__init__(text, place, names, functions)
        if self.kind in (Kind.NUMBER, Kind.TEXT):
            raise self._refusal(self.kind.value)

    def holds(self, values: Values) -> bool:
        """Say whether it is so."""
        value = self.value(values)
        if not isinstance(value, bool):
            raise self._refusal(Kind.TEXT.value if isinstance(value, str) else Kind.NUMBER.value)
        return value

    def _refusal(self, kind: str) -> InputError:
        return self._reader.refusal(self.text, f"is {kind}, not true or false: compare it, by <= or ==")
