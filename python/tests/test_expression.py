"""Expressions compute what Python would, and are no way into anything else."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loadstone import grammar
from loadstone.expression import Call, Comparison, Condition, Expression, Kind
from loadstone.files import InputError
from loadstone.grammar import DEEPEST, LONGEST

FIELDS = ("variant.tcp.iw", "variant.tls")
FACTORS = {"loss": 0.5, "rtt": 100, "network": "dsl", "push": True, "size": "100KB"}


def value(text: str, **values: Any) -> Any:
    known = {**FACTORS, **values}
    return Expression(text, "where", names=list(known)).value(known)


def refusal(text: str, functions: tuple[str, ...] = ()) -> str:
    names = () if functions else tuple(FACTORS)
    with pytest.raises(InputError) as refused:
        Condition(text, "where", names, functions).holds(FACTORS)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loss > 0 or rtt < 100", True),
        ("loss > 0 and rtt < 100", False),
        ("not loss > 0", False),
        ("0 < loss <= 0.5 < rtt", True),
        ("0 < loss < 0.5", False),
        ("rtt in [20, 100]", True),
        ("rtt not in (20, 100)", False),
        ("network in ['dsl', \"cable\"]", True),
        ("network == 'dsl' and size != '1MB'", True),
        ("push", True),
        ("push == true and not false", True),
        ("push in [True]", True),
        ("rtt * 2 + 1 - loss", 200.5),
        ("rtt % 30 / 4", 2.5),
        ("-rtt < --1", True),
        (" 1 + (2 * 3)\n", 7),
        ("(loss > 0\n or rtt < 1)", True),
        ("size", "100KB"),
    ],
)
def test_it_computes_what_python_would(text: str, expected: Any) -> None:
    assert value(text) == expected


def test_a_name_may_have_dots_and_is_looked_up_as_a_whole() -> None:
    read = Condition("variant.tcp.iw in [3, 10] and not variant.tls == 'none'", "where", FIELDS)
    assert read.holds({"variant.tcp.iw": 10, "variant.tls": "1.3"})
    with pytest.raises(InputError, match="cannot stand"):
        Condition("variant.tcp.iw.real == 3", "where", FIELDS)


def test_what_is_guarded_is_not_computed() -> None:
    assert value("loss == 0 or rtt / loss > 100", loss=0) is True
    assert value("loss > 0 and rtt / loss > 100", loss=0) is False


REFUSED = {
    "los > 0": "where: 'los' is no name that is known here: did you mean 'loss'?",
    "x > 0": "'x' is no name that is known here: take loss, rtt, network, push, size",
    "rtt < '20ms'": "'20ms' is a text, which has no order by <: use ==, != or in",
    "size < '20KB'": "'20KB' is a text, which has no order by <",
    "rtt < size": "'size' is the text '100KB', which has no order by <",
    "size == 100": "'size' is the text '100KB' and '100' is a number: compare numbers with numbers",
    "size in [100, 200]": "'size' is the text '100KB' and '100' is a number",
    "rtt in ['20ms']": "'rtt' is 100 and '20ms' is a text",
    "1 == 'a'": "'1' is a number and 'a' is a text",
    "push > 0": "'push' is true, which has no order by >",
    "rtt > 5 > 'a'": "'a' is a text",
    "rtt / (rtt - 100) > 1": "'rtt / (rtt - 100)' cannot be computed: 'rtt - 100' is 0",
    "rtt % 0 > 1": "'0' is 0",
    "size + 'a' == 'b'": "'a' is a text where a number is needed",
    "size * 2 == 3": "'size' is the text '100KB' where a number is needed",
    "not rtt": "'rtt' is 100 where true or false is needed",
    "push and 5": "'5' is a number where true or false is needed",
    "loss > 0 or 'dsl'": "'dsl' is a text where true or false is needed",
    "rtt": "'rtt' is a number, not true or false: compare it",
    "size ": "'size' is a text, not true or false",
    "rtt + 1": "'rtt + 1' is a number, not true or false",
    "'a'": "'a' is a text, not true or false",
    "": "where: the expression is empty: write comparisons",
    "rtt <": "where: 'rtt <' cannot be read: write comparisons",
    "rtt = 5": "'= 5' cannot be read",
    "rtt < 5 && push": "cannot be read",
    "rtt is 5": "'rtt is 5' compares by 'is'",
    "rtt in 5": "'5' is no list: write it in brackets",
    "rtt in []": "'[]' is no list",
    "'d' in network": "'network' is no list",
    "[1] == [1]": "'[1]' is a list: lists stand behind 'in' only",
    "rtt in [[1]]": "'[1]' is a list",
    "rtt, loss": "is a list",
    "'a' * 10**9 == 'b'": "is a text where a number is needed",
    "10**9 > 1": "'10**9' cannot stand in an expression: write comparisons",
    "10 // 3 > 1": "'10 // 3' cannot stand",
    "~1 < 2": "'~1' cannot stand",
    "1 << 2 < 2": "'1 << 2' cannot stand",
    "network.upper() == 'DSL'": "'network.upper' is no function that is known here: there are none",
    "network.real == 1": "'network.real' cannot stand",
    "network[0] == 'd'": "'network[0]' cannot stand",
    "(lambda: 1) == 1": "cannot stand",
    "[x for x in (1, 2)] == 1": "cannot stand",
    "(x := 1) == 1": "cannot stand",
    "1 if push else 2": "cannot stand",
    "f'{rtt}' == '100'": "cannot stand",
    "b'a' == 1": "cannot stand",
    "1j == 1": "cannot stand",
    "None == 1": "cannot stand",
    "... == 1": "cannot stand",
    "*rtt": "cannot be read",
    "{1} == 1": "cannot stand",
    "1e999 > 1": "'1e999' is too large a number",
    "rtt < 1e200 * 1e200": "'1e200 * 1e200' is too large a number",
    "9" * 400 + " > 1": "is too large a number",
    "__import__('os').system('true') == 0": "is no function that is known here",
    "1;2": "cannot be read",
    "import os": "cannot be read",
    "rtt > 1\0": "cannot be read",
    "'\ud800' > 1": "cannot be read",
    "rtt > 0" + " " * LONGEST + "+ 1": "is longer than 2,000 characters: split it",
    "(" * 150 + "rtt" + ")" * 150: "is a number",
    "(" * 400 + "rtt" + ")" * 400: "",
    "-" * 1_500 + "1 < 2": "split it",
    "1 + (" * 61 + "1" + ")" * 61 + " < 2": "has more than 60 levels within each other: split it",
    "not " * 400 + "push": "split it",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:30].encode("ascii", "replace").decode())
def test_the_rest_is_refused_with_the_piece_and_what_to_do(text: str) -> None:
    assert REFUSED[text] in refusal(text)


def test_an_error_shows_a_bounded_piece_of_what_was_written() -> None:
    assert len(refusal("x" * 1_900)) < 250
    assert "\x1b" not in refusal("'\x1b[31m' > 1")


def test_kinds_that_are_known_are_refused_without_values() -> None:
    for text in ("1 < 'a'", "push and rtt + 1", "loss or 5", "not 1", "1 + 'a' > 2", "5", "'a' in [1]"):
        with pytest.raises(InputError):
            Condition(text, "where", list(FACTORS))
    assert Expression("loss", "where", ["loss"]).kind is Kind.UNKNOWN
    assert Expression("loss + 1", "where", ["loss"]).kind is Kind.NUMBER


def test_a_value_that_is_no_level_is_refused() -> None:
    for odd in (None, [1], float("nan"), float("inf"), object()):
        with pytest.raises(InputError, match="'loss' is"):
            value("loss > 0", loss=odd)


FUNCTIONS = ("plt", "before")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plt(h2)", Call("plt", "h2")),
        ("plt(http/1.1)", Call("plt", "http/1.1")),
        ("plt( spdy/3.1 )", Call("plt", "spdy/3.1")),
        ("plt('h2 IW 10')", Call("plt", "h2 IW 10")),
        ('plt("h2 IW 10")', Call("plt", "h2 IW 10")),
        ("before(plt(h2))", Call("before", Call("plt", "h2"))),
        (
            "plt(\N{LATIN SMALL LETTER E WITH ACUTE}/1.1)",
            Call("plt", "\N{LATIN SMALL LETTER E WITH ACUTE}/1.1"),
        ),
    ],
)
def test_functions_are_asked_of_names_as_they_are_written(text: str, expected: Call) -> None:
    read = Expression(f"1.5 * {text} + 1", "--assert", functions=FUNCTIONS)
    assert read.calls == (expected,)
    assert read.value({expected: 10}) == 16


def test_a_figure_that_is_asked_for_twice_is_one() -> None:
    read = Condition("1 < plt(h2) < 3 or plt('h2') > 9", "--assert", functions=FUNCTIONS)
    assert read.calls == (Call("plt", "h2"),)
    assert read.holds({Call("plt", "h2"): 2}) and not read.holds({Call("plt", "h2"): 3})


def deciding(text: str, **values: float) -> list[str]:
    read = Condition(text, "where", names=list(values))
    return [f"{one.left_value} {one.sign} {one.right_value}" for one in read.deciding(values)]


def test_comparisons_that_decided_are_given_with_what_stood_on_both_sides() -> None:
    read = Condition("plt(h2) <= 1.05 * plt(best)", "--assert", functions=FUNCTIONS)
    (made,) = read.deciding({Call("plt", "h2"): 12, Call("plt", "best"): 10})
    assert made == Comparison("plt(h2)", 12, "<=", "1.05 * plt(best)", 10.5)
    assert not made.holds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x < 9 and not x > 3", ["5 > 3"]),
        ("x < 3 and not x > 9", ["5 < 3"]),
        ("x < 3 and x < 4 and x < 9", ["5 < 3", "5 < 4"]),
        ("x < 3 or x < 4", ["5 < 3", "5 < 4"]),
        ("x < 3 or x < 9", ["5 < 9"]),
        ("not (x < 3 or x < 9)", ["5 < 9"]),
        ("not (x < 9 and x > 3)", ["5 < 9", "5 > 3"]),
        ("not not (x > 3 and not x < 9)", ["5 < 9"]),
        ("1 < x < 3 < 2", ["5 < 3"]),
        ("not 1 < x < 9", ["1 < 5", "5 < 9"]),
        ("x in [1, 2] and x < 9", ["5 in [1, 2]"]),
        ("(x > 3) == (x > 9)", ["True == False"]),
        # What is guarded has no say.
        ("x != 5 and 1 / (x - 5) > 1", ["5 != 5"]),
        ("true", []),
    ],
)
def test_what_did_not_decide_is_no_cause(text: str, expected: list[str]) -> None:
    assert deciding(text, x=5) == expected


REFUSED_CALLS = {
    "plt(h2 IW 10) > 1": "names with spaces stand in quotes",
    "plz(h2) > 1": "'plz' is no function that is known here: did you mean 'plt'?",
    "h2 > 1": "'h2' stands alone: ask for a figure, as in plt(h2)",
    "plt() > 1": "'plt()' is asked wrongly: give one name, as in plt(NAME)",
    "plt(a, b) > 1": "'plt(a, b)' is asked wrongly",
    "plt(*a) > 1": "is asked wrongly",
    "plt(**a) > 1": "is asked wrongly",
    "plt(of=a) > 1": "is asked wrongly",
    "before(open('x')) > 1": "'open' is no function",
    "plt(h2)(1) > 1": "'plt(h2)' is no function",
    "plt(h2) > 'a'": "'a' is a text",
    "plt(h2)": "'plt(h2)' is a number, not true or false",
    "before(" * 150 + "h2" + ")" * 150 + " > 1": "levels within each other",
}


@pytest.mark.parametrize("text", REFUSED_CALLS, ids=lambda text: text[:30])
def test_what_is_asked_wrongly_is_refused(text: str) -> None:
    assert REFUSED_CALLS[text] in refusal(text, FUNCTIONS)


def computed(text: str) -> None:
    """Whatever is written, it is a value or an `InputError`."""
    for functions in ((), FUNCTIONS):
        try:
            read = Expression(text, "here", tuple(FACTORS), functions)
            result = read.value({**FACTORS, **dict.fromkeys(read.calls, 3.0)})
        except InputError:
            continue
        assert isinstance(result, bool | int | float | str)
        read.deciding({**FACTORS, **dict.fromkeys(read.calls, 3.0)})


@settings(deadline=None)
@given(st.text(max_size=60))
@example("\r1")
@example("(1\f\r\n+ 2)\\")
@example("1or 2")
@example("'\\d' == 1")
@example("(yield)")
def test_no_text_does_anything_else(text: str) -> None:
    computed(text)


WORDS = """loss rtt network push 0 1 2.5 1e300 'a' "b" true None + - * / % ** // < <= == != >= is in not and
or ( ) [ ] { } , . : := lambda if else for await plt before @ ~ & # = ; 0x f'{1}' 1j"""
PIECES = st.sampled_from([*WORDS.split(), "\n", "\\"])


@settings(deadline=None)
@given(st.lists(PIECES, max_size=25).map(" ".join))
def test_nothing_that_looks_like_one_does_anything_else(text: str) -> None:
    computed(text)


def nested(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = st.sampled_from(["+", "-", "*", "/", "%", "<", "<=", "==", "!=", ">", "and", "or", "in"])
    joined = st.tuples(parts, signs, parts).map(" ".join)
    lists = st.lists(parts, max_size=3).map(", ".join)
    forms = st.sampled_from(["({})", "not ({})", "-({})", "plt({})"])
    return joined.map("({})".format) | st.builds(str.format, forms, parts) | lists.map("[{}]".format)


@settings(deadline=None)
@given(st.recursive(st.sampled_from(["loss", "rtt", "network", "push", "3", "'dsl'"]), nested, max_leaves=20))
def test_what_is_well_formed_is_a_value_or_refused(text: str) -> None:
    computed(text)


NUMBERS = st.one_of(st.integers(-1000, 1000), st.floats(-1e6, 1e6))


@settings(deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS)
def test_arithmetic_is_python_s_to_the_last_bit(a: float, b: float, c: float) -> None:
    assert value("a * b - c + a / 3", a=a, b=b, c=c) == a * b - c + a / 3
    assert value("a < b <= c or a == c != b", a=a, b=b, c=c) == (a < b <= c or a == c != b)


def test_comparisons_within_each_other_take_no_time_to_speak_of() -> None:
    """Each is computed once: twice at each of the levels would never end."""
    text = "push"
    for _ in range(DEEPEST - 5):
        text = f"({text}) == push"
    assert value(text) is True
    read = Condition(text, "where", names=list(FACTORS))
    assert len(read.deciding(FACTORS)) == 1


def test_a_sum_has_as_many_terms_as_there_is_room_for() -> None:
    terms = 480
    assert value("1 + " * terms + "rtt") == terms + 100
    assert value("2 * 3 - 1 + " * 100 + "1 - 7 % 4 / 2") == 5 * 100 + 1 - 7 % 4 / 2
    with pytest.raises(InputError, match="'1 / 0' cannot be computed: '0' is 0"):
        value("1 - 1 / 0 + 5 > 3")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_piece_is_found_in_any_line_and_behind_any_letter(end: str) -> None:
    text = f"(network == '\u00e9' or rtt +{end} 1)"
    assert "where: 'rtt + 1' is a number where true or false is needed" in refusal(text)


def test_a_long_list_is_checked_by_a_member_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kinds are known, so looking at each again with each value would be for nothing."""
    read = Condition(f"rtt in [{'1, ' * 600}100]", "where", ["rtt"])
    looked = []
    found = grammar._Found.of
    monkeypatch.setattr(grammar._Found, "of", lambda part, value: looked.append(part) or found(part, value))
    assert read.holds({"rtt": 100}) and not read.holds({"rtt": 2})
    assert len(looked) == 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rtt in [1, 2, size]", "'rtt' is 100 and 'size' is the text '100KB'"),
        ("rtt in [1, 'a', 2]", "'rtt' is 100 and 'a' is a text"),
        ("rtt in [size, 100]", "'rtt' is 100 and 'size' is the text '100KB'"),
    ],
)
def test_another_kind_in_a_list_is_refused_wherever_it_stands(text: str, why: str) -> None:
    assert why in refusal(text)


def test_a_list_may_have_names_in_it() -> None:
    assert value("rtt in [1, loss * 200, 2]") is True
    assert value("rtt in [1, loss * 200, 2]", rtt=3) is False
