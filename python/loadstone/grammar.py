"""The part of Python that expressions are written in: parts are made of a text, with their kinds checked."""

import ast
import difflib
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from loadstone.files import InputError
from loadstone.text import harmless, shorten

LONGEST = 2_000
"""The most characters of an expression, and so of its parts, each of which takes one at least."""
DEEPEST = 60
"""The most levels that its parts may stand within each other; a sum is one, however many terms it has."""

_LARGEST = 1e300
"""Beyond it a number is refused, so that none becomes infinite and none takes long."""
_SHOWN = 60
"""The most characters that an error shows of the offending piece."""

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_ORDER = ("<", "<=", ">", ">=")

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, values: value in values,
    "not in": lambda value, values: value not in values,
}
"""What each sign asks."""

_TRUTHS = {"true": True, "false": False}
"""As TOML and JSON write them; Python's own spelling is known anyway."""


class Kind(Enum):
    """What a part of an expression stands for."""

    NUMBER = "a number"
    TEXT = "a text"
    TRUTH = "true or false"
    UNKNOWN = "not known before there is a value"


@dataclass(frozen=True)
class Call:
    """A function as it is asked: `plt(h2)`, `before(plt(h2))`."""

    function: str
    argument: "str | Call"
    """A name, which is not looked up here, or another call."""

    def __str__(self) -> str:
        return f"{self.function}({self.argument})"


Values = Mapping[Any, Any]
"""What names (by `str`) and calls (by `Call`) stand for."""


@dataclass(frozen=True)
class Comparison:
    """One comparison of an expression, with what stood on its sides."""

    left: str
    left_value: Any
    sign: str
    right: str
    right_value: Any

    @property
    def holds(self) -> bool:
        """Say whether it is so."""
        return COMPARE[self.sign](self.left_value, self.right_value)


@dataclass(frozen=True)
class Part:
    """A piece of an expression that has a value."""

    text: str
    kind: Kind
    value: Callable[[Values], Any]
    members: tuple[tuple[int, "Part"], ...] = ()
    """Of a list, those whose kinds have to be looked at, with their places: of a known kind, the first."""
    deciding: Callable[[Values], list[Comparison]] = lambda values: []
    """Of what is true or false, the comparisons that made it so."""


@dataclass(frozen=True)
class _Found:
    """What is known of a part when kinds are checked."""

    text: str
    kind: Kind
    said: str

    @classmethod
    def before(cls, part: Part) -> "_Found":
        """Say what is known of it without values."""
        return cls(part.text, part.kind, part.kind.value)

    @classmethod
    def of(cls, part: Part, value: Any) -> "_Found":
        """Say what is known of it now; of what was known before, no more than its kind."""
        return (
            cls.before(part) if part.kind is not Kind.UNKNOWN else cls(part.text, _kind(value), _said(value))
        )


class Reader:
    """Makes the parts of one text, and refuses what it does not know."""

    def __init__(self, text: str, place: str, names: tuple[str, ...], functions: tuple[str, ...]) -> None:
        """Read `text`, which stands at `place` and may speak of these names and functions."""
        # Lines end as the parser has them end.
        self._text = text.strip().replace("\r\n", "\n").replace("\r", "\n")
        self._place = place
        self._names = names
        self._functions = functions
        self.calls: dict[str, Call] = {}
        """By how they are spelled."""
        self._lines: list[bytes] = []

    def read(self) -> Part:
        """Give the whole as one part."""
        if not self._text:
            raise InputError(f"{self._place}: the expression is empty: write {self._may()}")
        if len(self._text) > LONGEST:
            raise self.refusal(self._text, f"is longer than {LONGEST:,} characters: split it")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(self._text, mode="eval")
        except (RecursionError, MemoryError):
            raise self._too_deep() from None
        except (SyntaxError, ValueError) as error:
            at = (getattr(error, "offset", None) or 1) - 1
            near = self._text[at:] if getattr(error, "lineno", 1) == 1 else ""
            quotes = "; names with spaces stand in quotes" if self._functions else ""
            raise self.refusal(near or self._text, f"cannot be read: write {self._may()}{quotes}") from None
        self._lines = self._text.encode().split(b"\n")
        return self._part(tree.body, 0)

    def refusal(self, piece: str, why: str) -> InputError:
        """Say that a piece cannot be, and why."""
        return InputError(f"{self._place}: {_quoted(piece)} {why}")

    def _too_deep(self) -> InputError:
        return self.refusal(self._text, f"has more than {DEEPEST} levels within each other: split it")

    def _may(self) -> str:
        known = "comparisons (< <= == != >= > in), and, or, not, + - * / %, numbers, texts in quotes"
        if self._names:
            known += f", names ({', '.join(self._names)})"
        return f"{known}, functions ({', '.join(self._functions)})" if self._functions else known

    def _source(self, node: ast.expr) -> str:
        # As `ast.get_source_segment`, which goes through the whole text each time.
        lines = self._lines[node.lineno - 1 : node.end_lineno]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return " ".join(b"\n".join(lines).decode().split())

    def _part(self, node: ast.expr, depth: int) -> Part:
        if depth > DEEPEST:
            raise self._too_deep()
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                checked = self._checked(value, self._source(node))
                return Part(self._source(node), _kind(checked), lambda values: checked)
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute() if self._source(node) in self._names:
                # A name with dots in it, as fields of scenarios have; nothing is looked up in anything.
                return self._name(self._source(node))
            case ast.Call():
                return self._call(node, depth)
            case ast.UnaryOp():
                return self._unary(node, depth)
            case ast.BinOp(op=op) if type(op) in _ARITHMETIC:
                return self._arithmetic(node, depth)
            case ast.BoolOp():
                return self._joined(node, depth)
            case ast.Compare():
                return self._compared(node, depth)
            case ast.List() | ast.Tuple():
                raise self.refusal(self._source(node), "is a list: lists stand behind 'in' only")
        raise self.refusal(self._source(node), f"cannot stand in an expression: write {self._may()}")

    def _name(self, name: str) -> Part:
        if name in self._names:
            return Part(name, Kind.UNKNOWN, lambda values: self._checked(values[name], name))
        if name in _TRUTHS:
            return Part(name, Kind.TRUTH, lambda values: _TRUTHS[name])
        if self._functions and not self._names:
            raise self.refusal(name, f"stands alone: {self._remedy(name)}")
        raise self.refusal(name, f"is no name that is known here{_nearest(name, self._names)}")

    def _remedy(self, name: str) -> str:
        if name in self._functions:
            return f"say of which variant, as in {name}(best)"
        return f"ask for a figure, as in {self._functions[0]}({name})"

    def _call(self, node: ast.Call, depth: int) -> Part:
        call, text = self._asked(node, depth), self._source(node)
        self.calls[text] = call
        return Part(text, Kind.NUMBER, lambda values: self._number(values[call], text))

    def _asked(self, node: ast.Call, depth: int) -> Call:
        if depth > DEEPEST:
            raise self._too_deep()
        function = self._source(node.func)
        if function not in self._functions:
            raise self.refusal(
                function, f"is no function that is known here{_nearest(function, self._functions)}"
            )
        match node.args, node.keywords:
            case [ast.Call() as inner], []:
                return Call(function, self._asked(inner, depth + 1))
            case [ast.Constant(value=str() as name)], []:
                return Call(function, name)
            case [argument], [] if not isinstance(argument, ast.Starred):
                return Call(function, self._source(argument))
        raise self.refusal(self._source(node), f"is asked wrongly: give one name, as in {function}(NAME)")

    def _unary(self, node: ast.UnaryOp, depth: int) -> Part:
        text, inner = self._source(node), self._part(node.operand, depth + 1)
        match node.op:
            case ast.Not():
                truth = self._expect(Kind.TRUTH, inner)
                return Part(text, Kind.TRUTH, lambda values: not truth.value(values), deciding=truth.deciding)
            case ast.USub():
                number = self._expect(Kind.NUMBER, inner)
                return Part(text, Kind.NUMBER, lambda values: -number.value(values))
        raise self.refusal(text, f"cannot stand in an expression: write {self._may()}")

    def _joined(self, node: ast.BoolOp, depth: int) -> Part:
        parts = [self._expect(Kind.TRUTH, self._part(part, depth + 1)) for part in node.values]
        join = all if isinstance(node.op, ast.And) else any

        def value(values: Values) -> bool:
            return join(part.value(values) for part in parts)

        def deciding(values: Values) -> list[Comparison]:
            whole = value(values)
            return [one for part in parts if _agrees(part, whole, values) for one in part.deciding(values)]

        return Part(self._source(node), Kind.TRUTH, value, deciding=deciding)

    def _arithmetic(self, node: ast.BinOp, depth: int) -> Part:
        # What goes from left to right nests to the left. To a reader a sum is one level, so it counts as one.
        steps, first = [node], node.left
        while isinstance(first, ast.BinOp) and type(first.op) in _ARITHMETIC:
            steps.append(first)
            first = first.left
        start = self._expect(Kind.NUMBER, self._part(first, depth + 1))
        rest = [
            (step, _ARITHMETIC[type(step.op)], self._expect(Kind.NUMBER, self._part(step.right, depth + 1)))
            for step in reversed(steps)
        ]

        def value(values: Values) -> Any:
            result = start.value(values)
            for step, compute, right in rest:
                try:
                    result = compute(result, right.value(values))
                except ZeroDivisionError:
                    why = f"cannot be computed: {_quoted(right.text)} is 0"
                    raise self.refusal(self._source(step), why) from None
                if not _is_within(result):
                    raise self._too_large(self._source(step))
            return result

        return Part(self._source(node), Kind.NUMBER, value)

    def _compared(self, node: ast.Compare, depth: int) -> Part:
        first = left = self._part(node.left, depth + 1)
        links = []
        for op, other in zip(node.ops, node.comparators, strict=True):
            if type(op) not in _SIGNS:
                raise self.refusal(self._source(node), "compares by 'is': compare by == or !=")
            sign = _SIGNS[type(op)]
            right = self._list(other, depth) if sign.endswith("in") else self._part(other, depth + 1)
            for _, member in right.members or ((0, right),):
                self._check_kinds(_Found.before(left), sign, _Found.before(member))
            links.append((sign, right))
            left = right

        def made(values: Values) -> Iterator[Comparison]:
            """Compare from left to right, as far as it is so."""
            left, left_value = first, first.value(values)
            for sign, right in links:
                right_value = right.value(values)
                self._check_values(left, left_value, sign, right, right_value)
                one = Comparison(left.text, left_value, sign, right.text, right_value)
                yield one
                if not one.holds:
                    return
                left, left_value = right, right_value

        def deciding(values: Values) -> list[Comparison]:
            chain = list(made(values))
            return chain if chain[-1].holds else chain[-1:]

        return Part(
            self._source(node),
            Kind.TRUTH,
            lambda values: all(one.holds for one in made(values)),
            deciding=deciding,
        )

    def _list(self, node: ast.expr, depth: int) -> Part:
        if not isinstance(node, ast.List | ast.Tuple) or not node.elts:
            raise self.refusal(self._source(node), "is no list: write it in brackets, as in [1, 10]")
        parts = [self._part(member, depth + 1) for member in node.elts]
        kinds = [part.kind for part in parts]
        members = tuple(
            (at, part)
            for at, part in enumerate(parts)
            if part.kind is Kind.UNKNOWN or kinds.index(part.kind) == at
        )
        text = self._source(node)
        if not any(isinstance(inner, ast.Name | ast.Call) for inner in ast.walk(node)):
            same = [part.value({}) for part in parts]
            return Part(text, Kind.UNKNOWN, lambda values: same, members)
        return Part(text, Kind.UNKNOWN, lambda values: [part.value(values) for part in parts], members)

    def _check_values(self, left: Part, left_value: Any, sign: str, right: Part, right_value: Any) -> None:
        """Refuse values that cannot be compared."""
        found = _Found.of(left, left_value)
        for part, value in [(part, right_value[at]) for at, part in right.members] or [(right, right_value)]:
            self._check_kinds(found, sign, _Found.of(part, value))

    def _check_kinds(self, left: "_Found", sign: str, right: "_Found") -> None:
        """Refuse what cannot be compared, as far as kinds are known."""
        if sign in _ORDER:
            for side in (left, right):
                if side.kind in (Kind.TEXT, Kind.TRUTH):
                    why = f"is {side.said}, which has no order by {sign}: use ==, != or in"
                    raise self.refusal(side.text, why)
        if left.kind is not right.kind and Kind.UNKNOWN not in (left.kind, right.kind):
            raise self.refusal(
                left.text,
                f"is {left.said} and {_quoted(right.text)} is {right.said}: compare numbers with numbers and "
                "texts (in quotes) with texts",
            )

    def _expect(self, kind: Kind, part: Part) -> Part:
        """See to it that a part is of that kind, now or, where that is not known, with each value."""
        if part.kind is kind:
            return part
        if part.kind is not Kind.UNKNOWN:
            raise self.refusal(part.text, f"is {part.kind.value} where {kind.value} is needed")

        def value(values: Values) -> Any:
            found = part.value(values)
            if _kind(found) is not kind:
                raise self.refusal(part.text, f"is {_said(found)} where {kind.value} is needed")
            return found

        return Part(part.text, kind, value, deciding=part.deciding)

    def _checked(self, value: Any, text: str) -> Any:
        if _kind(value) is Kind.UNKNOWN:
            raise self.refusal(text, "is neither a number nor a text nor true or false")
        return self._number(value, text) if _kind(value) is Kind.NUMBER else value

    def _number(self, value: Any, text: str) -> Any:
        if not _is_within(value):
            raise self._too_large(text)
        return value

    def _too_large(self, text: str) -> InputError:
        return self.refusal(text, "is too large a number")


def _is_within(value: Any) -> bool:
    # What is not a number at all is not within these bounds either.
    return bool(-_LARGEST <= value <= _LARGEST)


def _agrees(part: Part, whole: bool, values: Values) -> bool:
    """Say whether a part of an `and` or `or` is what the whole is; what cannot be computed has no say."""
    try:
        return part.value(values) is whole
    except InputError:
        return False


def _kind(value: Any) -> Kind:
    if isinstance(value, bool):
        return Kind.TRUTH
    if isinstance(value, int | float):
        return Kind.NUMBER
    return Kind.TEXT if isinstance(value, str) else Kind.UNKNOWN


def _said(value: Any) -> str:
    return f"the text {_quoted(value)}" if isinstance(value, str) else str(value).lower()


def _quoted(piece: str) -> str:
    shown = shorten(harmless(" ".join(piece.split())), _SHOWN)
    return shown if shown[:1] in ("'", '"') else f"'{shown}'"


def _nearest(name: str, known: Sequence[str]) -> str:
    """Say which name was meant, perhaps, or which there are."""
    if not known:
        return ": there are none"
    close = difflib.get_close_matches(name[:_SHOWN], known, 1)
    return f": did you mean '{close[0]}'?" if close else f": take {', '.join(known)}"
