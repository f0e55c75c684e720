"""Levels as numbers, and sets of levels in words."""

import polars as pl
import pytest

import conditions
from loadstone.analysis import features
from loadstone.analysis.features import Kind
from loadstone.files import InputError


@pytest.mark.parametrize(
    ("level", "read"),
    [
        (7, ("number", 7.0)),
        (0.5, ("number", 0.5)),
        ("0.5", ("number", 0.5)),
        ("100KB", ("size", 100_000.0)),
        ("64KiB", ("size", 65_536.0)),
        ("1.6mbit", ("rate", 1_600_000.0)),
        ("100ms", ("time", 100.0)),
        ("2s", ("time", 2_000.0)),
        ("1%", ("share", 0.01)),
        ("1 %", ("share", 0.01)),
    ],
)
def test_numbers_are_read_with_their_units(level: object, read: tuple[str, float]) -> None:
    assert features.number(level) == (read[0], pytest.approx(read[1]))


@pytest.mark.parametrize(
    "level", [True, None, "dsl", "10/1mbit", "http/1.1", "10 apples", "", "%", "1e", "100Kb"]
)
def test_what_is_no_number_is_a_name(level: object) -> None:
    assert features.number(level) is None


def test_text_with_units_is_ordered_by_what_it_says() -> None:
    factor = features.factor("size", ["1MB", "500B", "20KB"])
    assert factor.kind is Kind.NUMBER
    assert factor.levels == ["500B", "20KB", "1MB"]


def test_a_zero_needs_no_unit_and_other_units_make_names() -> None:
    assert features.factor("loss", ["0", "1%"]).kind is Kind.NUMBER
    assert features.factor("mixed", ["10ms", "1%"]).kind is Kind.NAME
    assert features.factor("mixed", ["10", "1%"]).kind is Kind.NAME
    assert features.factor("page", ["news", "1"]).kind is Kind.NAME
    assert features.factor("push", [False, True]).kind is Kind.NAME


def test_levels_that_are_the_same_number_are_one_step() -> None:
    factor = features.factor("size", ["1000B", "1KB", "2KB"])
    assert factor.steps == (("1000B", "1KB"), ("2KB",))


def test_sets_of_levels_have_words() -> None:
    size = features.factor("size", ["1KB", "10KB", "100KB", "1MB"])
    words = [size.words(kept) for kept in ([0], [0, 1], [1], [1, 2], [2, 3], [3])]
    assert words == [
        "size below 10KB",
        "size below 100KB",
        "size 10KB",
        "size at least 10KB and below 1MB",
        "size at least 100KB",
        "size at least 1MB",
    ]
    page = features.factor("page", ["news", "shop", "mail", "maps"])
    assert page.words([1]) == "page shop"
    assert page.words([0, 2]) == "page news or mail"
    assert page.words([0, 2, 3]) == "page not shop"
    assert features.factor("push", [False, True]).words([1]) == "push true"


def test_a_threshold_makes_high_and_low() -> None:
    loss = features.factor("loss", ["0%", "0.5%", "1%", "2%"], high=0.01)
    assert loss.steps == (("0%", "0.5%"), ("1%", "2%"))
    assert loss.words([1]) == "high loss (>= 1%)"
    assert loss.words([0]) == "low loss (< 1%)"
    assert [feature.name for feature in features.features([loss])] == ["high loss (>= 1%)"]
    assert loss.scale().levels == ["0%", "0.5%", "1%", "2%"]


def test_names_cannot_be_high() -> None:
    with pytest.raises(InputError, match="page: has a level that is no number"):
        features.factor("page", ["news", "shop"], high=1)


def test_a_threshold_in_another_unit_is_no_threshold() -> None:
    asked = conditions.question({"loss": ["0%", "1%"], "protocol": ["http/1.1", "h2"]}, high={"loss": 1})
    frame = conditions.gains(asked, lambda *_: 1.0)
    with pytest.raises(
        InputError, match=r"high\.loss: 1 does not part 0%, 1% into low and high: .* share of 1"
    ):
        features.factors(frame, asked)


def test_names_become_a_column_each_and_two_of_them_one() -> None:
    page = features.factor("page", ["news", "shop", "mail"])
    push = features.factor("push", [False, True])
    assert [feature.name for feature in features.features([page, push])] == [
        "page news",
        "page shop",
        "page mail",
        "push",
    ]


def test_factors_that_do_not_vary_are_left_out_and_order_is_the_matrix_s() -> None:
    asked = conditions.question({"page": ["b", "a"], "rtt": ["20ms"], "protocol": ["http/1.1", "h2"]})
    frame = pl.DataFrame({"page": ["a", "b"], "rtt": ["20ms", "20ms"], "protocol": ["h2", "h2"]})
    found = features.factors(frame, asked)
    assert [(factor.name, factor.levels) for factor in found] == [("page", ["b", "a"])]
