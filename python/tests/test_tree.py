"""Decision rules: laws that are known are found again, said in words, and not where there are none."""

import itertools
import json
import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import conditions
from loadstone.analysis import tree
from loadstone.analysis.plots import tree_diagram as drawn
from loadstone.analysis.question import Level, Question
from loadstone.analysis.tree import Tree
from loadstone.files import InputError

ASKED = conditions.question(
    {
        "size": ["1KB", "10KB", "100KB"],
        "loss": ["0%", "0.5%", "1%", "2%"],
        "page": ["news", "shop", "mail"],
        "rtt": ["20ms", "100ms", "200ms"],
        "protocol": ["http/1.1", "h2"],
    }
)


def lossy_and_small(condition: dict[str, Any], _: Level) -> float:
    """Say 1.3 under much loss and below 10KB, 0.8 under much loss else, and 1."""
    if condition["loss"] in ("0%", "0.5%"):
        return 1.0
    return 1.3 if condition["size"] == "1KB" else 0.8


def covering(found: Tree) -> list[list[str]]:
    """Give for each condition the rules that it falls under."""
    names = [factor.name for factor in found.sample.factors]
    levels = [
        {
            name: factor.levels[[factor.place(level) for level in factor.levels].index(at)]
            for name, factor, at in zip(names, found.sample.factors, place, strict=True)
        }
        for place in found.sample.places
    ]
    return [
        [rule.words for rule in found.rules if all(there[name] in kept for name, kept in rule.levels.items())]
        for there in levels
    ]


def test_a_known_law_comes_back_in_words() -> None:
    found = tree.grow(conditions.gains(ASKED, lossy_and_small), ASKED)
    assert list(map(str, found.rules)) == [
        "size below 10KB and loss at least 1%: h2 (1.00 of 18 conditions, median gain 1.30)",
        "size at least 10KB and loss at least 1%: http/1.1 (1.00 of 36 conditions, median gain 0.80)",
        "loss below 1%: equal (1.00 of 54 conditions, median gain 1.00)",
    ]
    assert found.title == "When is h2 faster than http/1.1?"
    assert found.depth == 2
    assert found.accuracy is not None
    assert found.accuracy.marks == 1.0
    assert found.accuracy.trivial == 0.5
    # Gini's impurity, by hand: 108 - (54^2 + 36^2 + 18^2) / 108 = 66 in all, of which the split by loss
    # leaves 54 - (36^2 + 18^2) / 54 = 24.
    assert found.importance == [("loss", pytest.approx(42 / 66)), ("size", pytest.approx(24 / 66))]


def test_the_text_has_the_rules_the_tree_and_how_far_to_trust_it() -> None:
    text = tree.grow(conditions.gains(ASKED, lossy_and_small), ASKED).text()
    assert (
        "The same as a tree\n"
        "  loss below 1%: equal (1.00 of 54 conditions, median gain 1.00)\n"
        "  loss at least 1%\n"
        "    size below 10KB: h2 (1.00 of 18 conditions, median gain 1.30)\n"
        "    size at least 10KB: http/1.1 (1.00 of 36 conditions, median gain 0.80)\n"
    ) in text
    plain = " ".join(text.split())
    assert "h2 is better where it takes less than 0.9 of the time of http/1.1" in plain
    assert "108 conditions: 18 h2, 36 http/1.1, 54 equal." in plain
    assert "What decides, by Gini's impurity: loss 64%, size 36%." in plain
    assert "always to say equal is right about 50.0%" in plain
    assert "whose neighbours in the matrix are much alike" in plain
    assert max(map(len, text.split("\n"))) <= 110


def test_the_study_s_high_and_low_are_words_of_rules() -> None:
    asked = Question(ASKED.factors, "protocol", "http/1.1", high={"loss": 0.01, "size": 10_000})
    found = tree.grow(conditions.gains(asked, lossy_and_small), asked)
    assert [rule.words for rule in found.rules] == [
        "low size (< 10KB) and high loss (>= 1%)",
        "high size (>= 10KB) and high loss (>= 1%)",
        "low loss (< 1%)",
    ]


def test_names_are_told_apart_one_from_the_others() -> None:
    found = tree.grow(
        conditions.gains(ASKED, lambda condition, _: 1.5 if condition["page"] == "shop" else 1.0), ASKED
    )
    assert [rule.words for rule in found.rules] == ["page shop", "page not shop"]
    assert "  page shop: h2" in found.text()
    assert "  another page: equal" in found.text()


@pytest.mark.parametrize(
    ("ratio", "mark"), [(0.899, "h2"), (0.9, "equal"), (1.1, "equal"), (1.101, "http/1.1")]
)
def test_labels_change_at_the_study_s_ratios(ratio: float, mark: str) -> None:
    frame = conditions.gains(ASKED, lambda *_: 1 / ratio).with_columns(variant_ms=pl.lit(1000 * ratio))
    found = tree.grow(frame, ASKED)
    assert [(rule.words, rule.mark) for rule in found.rules] == [("always", mark)]


def test_a_leaf_is_marked_only_above_the_likelihood() -> None:
    # Of 108 conditions those of 27 are equal whatever a rule says: exactly three quarters are not.
    draw = random.Random(1)
    order = list(range(108))
    draw.shuffle(order)
    places = iter(order)
    frame = conditions.gains(ASKED, lambda *_: 1.0 if next(places) < 27 else 1.5)
    edge = tree.grow(frame, ASKED, depth=0)
    assert [str(rule) for rule in edge.rules] == [
        "always: undecided (0.75 h2, 0.25 equal of 108 conditions, median gain 1.50)"
    ]
    assert edge.rules[0].mark == "equal"
    below = tree.grow(frame, ASKED, depth=0, likelihood=0.74)
    assert [str(rule) for rule in below.rules] == ["always: h2 (0.75 of 108 conditions, median gain 1.50)"]


@pytest.mark.parametrize("order", list(itertools.permutations(("loss", "iw", "rtt"))))
def test_linked_factors_part_alike_and_the_first_of_the_matrix_speaks(order: tuple[str, ...]) -> None:
    # The three go together, so each says the same; names that fall as the others rise are no exception.
    linked = {"loss": ["0%", "1%", "2%"], "iw": [10, 20, 30], "rtt": ["30ms", "20ms", "10ms"]}
    words = {
        "loss": ["loss at least 1%", "loss below 1%"],
        "iw": ["iw at least 20", "iw below 20"],
        "rtt": ["rtt below 30ms", "rtt at least 30ms"],
    }
    asked = conditions.question(
        {**{name: linked[name] for name in order}, "size": [1, 2, 3, 4, 5, 6], "protocol": ["http/1.1", "h2"]}
    )
    frame = conditions.gains(asked, lambda condition, _: 1.4 if condition["iw"] > 10 else 1.0)
    rows = [
        len({levels.index(row[name]) for name, levels in linked.items()}) == 1
        for row in frame.iter_rows(named=True)
    ]
    found = tree.grow(frame.filter(pl.Series(rows)), asked)
    assert [rule.words for rule in found.rules] == words[order[0]]
    assert [name for name, _ in found.importance] == [order[0]]


def test_the_accuracy_is_that_of_the_marks() -> None:
    # Three of five are faster by chance: too few for a mark, so the rule says equal, which two of five are.
    draw = random.Random(1)
    dealt = draw.sample([1.5] * 3 * 20 + [1.0] * 2 * 20, 100)
    asked = conditions.question({"rtt": [*range(100)], "protocol": ["http/1.1", "h2"]})
    found = tree.grow(conditions.gains(asked, lambda at, _: dealt[at["rtt"]]), asked, depth=0)
    assert found.accuracy is not None
    assert found.accuracy.marks == pytest.approx(0.4)
    assert found.accuracy.commonest == found.accuracy.trivial == pytest.approx(0.6)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), depth=st.none() | st.integers(0, 8), share=st.floats(0.3, 1.0))
def test_every_condition_falls_under_exactly_one_rule(seed: int, depth: int | None, share: float) -> None:
    draw = random.Random(seed)
    frame = conditions.gains(ASKED, lambda *_: draw.choice([0.7, 1.0, 1.4]))
    # A matrix with holes.
    frame = frame.filter(pl.Series([draw.random() < share for _ in range(len(frame))]))
    found = tree.grow(frame, ASKED, depth=depth)
    assert all(len(rules) == 1 for rules in covering(found))
    assert sum(rule.support for rule in found.rules) == len(frame)
    for rule in found.rules:
        assert sum(rule.shares.values()) == pytest.approx(1.0)
        assert rule.mark == "equal" or rule.likelihood > 0.75
    for node in found.root.inner():
        leaves = [branch for branch in node.branches if not branch.branches]
        said = {(leaf.mark(found.thresholds), leaf.is_decided(found.thresholds)) for leaf in leaves}
        assert len(said) == 2 or len(leaves) < 2


def test_rules_that_can_be_learned_are_worth_more_than_saying_always_the_same() -> None:
    draw = random.Random(4)
    frame = conditions.gains(ASKED, lambda *at: lossy_and_small(*at) * draw.lognormvariate(0, 0.05))
    learned = tree.grow(frame, ASKED).accuracy
    assert learned is not None
    assert learned.marks > learned.trivial + 0.3


def test_where_chance_deals_the_gains_no_rules_are_found() -> None:
    frame = conditions.gains(ASKED, lossy_and_small)
    worth = []
    for seed in range(12):
        dealt = frame.sample(fraction=1, shuffle=True, seed=seed).select("gain", "variant_ms")
        found = tree.grow(frame.with_columns(dealt), ASKED)
        assert found.accuracy is not None
        # By the figure that comes first: a level that was left out knows nothing of what chance dealt.
        beyond = found.accuracy.levels.values()
        worth.append(sum(beyond) / len(beyond) - found.accuracy.trivial)
        assert bool(found.note) == (not found.root.branches) and "always:" not in found.text()
    assert sum(worth) <= 0
    assert sum(value == 0 for value in worth) >= 8


def test_a_tree_without_questions_shows_no_rule_and_no_accuracy() -> None:
    frame = conditions.gains(ASKED, lossy_and_small)
    one = tree.grow(frame, ASKED, depth=0)
    assert "Rules" not in one.text() and "trust" not in one.text() and "trust" not in drawn.draw(one).caption
    document = one.document()
    assert (document["rules"], document["accuracy"]) == ([], None)


def test_rules_that_are_worse_than_saying_always_the_same_say_so() -> None:
    law = {"1KB": 1.5, "10KB": 1.0, "100KB": 0.7}
    found = tree.grow(conditions.gains(ASKED, lambda condition, _: law[condition["size"]]), ASKED)
    said = " ".join(found.text().split())
    assert "right about size 0%, " in said and "The rules are worse than that for levels of size." in said
    # What stands first is of levels that were left out, not of conditions between known ones.
    assert said.index("left out altogether") < said.index("left out at random")


def test_the_depth_is_chosen_by_the_marks_that_rules_have() -> None:
    # 0.7 of the conditions of each half are h2: too few for a mark, so any question there leaves it at equal.
    draw = random.Random(11)
    asked = conditions.question({"rtt": [*range(200)], "protocol": ["http/1.1", "h2"]})
    dealt = [1.5 if draw.random() < (0.72 if at < 100 else 0.1) else 1.0 for at in range(200)]
    sample = tree.grow(conditions.gains(asked, lambda at, _: dealt[at["rtt"]]), asked, depth=1).sample
    thresholds = tree.Thresholds()
    depth = tree.training_set.choose_depth(sample, thresholds)
    marks = [tree.training_set.accuracy(sample, at, thresholds) for at in (0, depth)]
    assert marks[1].marks >= marks[0].marks - marks[0].error


def test_levels_that_are_numbers_are_named_by_their_factor() -> None:
    asked = conditions.question({"rtt": [*range(20)], "iw": [3, 10]}, "iw", 3)
    found = tree.grow(conditions.gains(asked, lambda at, _: 1.5 if at["rtt"] > 9 else 1.0), asked)
    assert found.title == "When is iw 10 faster than iw 3?"
    assert str(found.rules[0]).startswith("rtt at least 10: iw 10 (")
    assert found.text().count("iw 10 is better where it takes less than 0.9 of the time of iw 3") == 1


def test_a_level_that_was_left_out_says_what_lies_beyond_the_matrix() -> None:
    # Each size has a law of its own: what is known of the others says nothing about it.
    law = {"1KB": 1.5, "10KB": 1.0, "100KB": 0.7}
    found = tree.grow(conditions.gains(ASKED, lambda condition, _: law[condition["size"]]), ASKED)
    assert found.accuracy is not None
    assert found.accuracy.marks == 1.0
    assert found.accuracy.levels["size"] == 0.0
    assert found.accuracy.levels["rtt"] == 1.0


def test_the_depth_can_be_chosen() -> None:
    frame = conditions.gains(ASKED, lossy_and_small)
    assert [rule.words for rule in tree.grow(frame, ASKED, depth=1).rules] == [
        "loss below 1%",
        "loss at least 1%",
    ][::1]
    with pytest.raises(InputError, match="--depth: 21 is not from 0 to 20"):
        tree.grow(frame, ASKED, depth=21)


def test_a_tree_of_some_levels_knows_nothing_of_the_others() -> None:
    frame = conditions.gains(ASKED, lossy_and_small)
    found = tree.grow(frame, ASKED, only={"size": "1KB", "rtt": ["20ms", "100ms"]})
    assert found.title == "When is h2 faster than http/1.1, with size 1KB, with rtt 20ms or 100ms?"
    assert [(rule.words, rule.mark, rule.support) for rule in found.rules] == [
        ("loss at least 1%", "h2", 12),
        ("loss below 1%", "equal", 12),
    ]
    for only, message in [
        ({"sizes": "1KB"}, "sizes: is no factor of a condition"),
        ({"protocol": "h2"}, "protocol: is no factor of a condition"),
        ({"size": "2KB"}, "size: has no level 2KB"),
    ]:
        with pytest.raises(InputError, match=message):
            tree.grow(frame, ASKED, only=only)


def test_of_several_challengers_one_tree_says_which_is_best() -> None:
    asked = conditions.question(
        {"loss": ["0%", "1%", "2%"], "rtt": [20, 50, 100, 150, 200], "protocol": ["http/1.1", "h2", "spdy/3"]}
    )

    def law(condition: dict[str, Any], challenger: Level) -> float:
        if condition["loss"] == "2%":
            return 0.7
        faster = "h2" if condition["loss"] == "0%" else "spdy/3"
        return 1.6 if challenger == faster else 1.2

    found = tree.grow_all(conditions.gains(asked, law), asked)
    assert [one.title for one in found] == [
        "When is h2 faster than http/1.1?",
        "When is spdy/3 faster than http/1.1?",
        "Which of h2, spdy/3 and http/1.1 is best when?",
    ]
    assert list(map(str, found[2].rules)) == [
        "loss below 1%: h2 (1.00 of 5 conditions, median gain 1.60)",
        "loss 1%: spdy/3 (1.00 of 5 conditions, median gain 1.60)",
        "loss at least 2%: http/1.1 (1.00 of 5 conditions, median gain 0.70)",
    ]


def test_challengers_within_the_bar_of_the_fastest_count_in_the_matrix_s_order() -> None:
    asked = conditions.question({"rtt": [*range(1, 13)], "protocol": ["http/1.1", "h2", "spdy/3"]})
    near = conditions.gains(asked, lambda _, challenger: 1.5 if challenger == "h2" else 1.6)
    assert [rule.mark for rule in tree.grow(near, asked).rules] == ["h2"]
    far = conditions.gains(asked, lambda _, challenger: 1.5 if challenger == "h2" else 1.7)
    assert [rule.mark for rule in tree.grow(far, asked).rules] == ["spdy/3"]


def test_a_condition_without_one_of_the_challengers_is_no_condition_of_the_best() -> None:
    asked = conditions.question({"rtt": [*range(1, 15)], "protocol": ["http/1.1", "h2", "spdy/3"]})
    frame = conditions.gains(asked, lambda *_: 1.5)
    holed = frame.filter(~((pl.col("rtt") == 3) & (pl.col("protocol") == "h2")))
    assert [len(one.sample) for one in tree.grow_all(holed, asked)] == [13, 14, 13]


def test_what_cannot_be_learned_is_said() -> None:
    frame = conditions.gains(ASKED, lossy_and_small)
    nothing = tree.grow(frame.clear(), ASKED)
    assert nothing.rules == []
    assert (
        nothing.note
        == "No condition has loads of http/1.1 and of what is held against it, so there is no rule."
    )
    alike = tree.grow(conditions.gains(ASKED, lambda *_: 1.0), ASKED)
    assert alike.note == "In all conditions they are equal: there is nothing to tell apart."
    few = tree.grow(frame.sample(11, seed=1), ASKED)
    assert few.note == "11 conditions are too few for rules: at least 12 are needed."
    alone = conditions.question({"protocol": ["http/1.1", "h2"]})
    one = tree.grow(conditions.gains(alone, lambda *_: 1.3), alone)
    assert [str(rule) for rule in one.rules] == ["always: h2 (1.00 of 1 condition, median gain 1.30)"]
    for each in (nothing, alike, few, one):
        assert each.text()
        assert drawn.draw(each).svg.startswith("<svg")
        json.dumps(each.document(), allow_nan=False)


def test_a_challenger_that_is_none_is_refused() -> None:
    frame = conditions.gains(ASKED, lossy_and_small)
    with pytest.raises(InputError, match=r"protocol: http/1\.1 is none of the challengers: give one of h2"):
        tree.grow(frame, ASKED, "http/1.1")


def test_thresholds_that_mean_nothing_are_refused() -> None:
    frame = conditions.gains(ASKED, lossy_and_small)
    with pytest.raises(InputError, match=r"1\.2 and 1\.1 are not below and above 1"):
        tree.grow(frame, ASKED, faster=1.2)
    with pytest.raises(InputError, match="likelihood: 1 is no share below 1"):
        tree.grow(frame, ASKED, likelihood=1)


def test_the_same_gains_grow_the_same_tree_to_the_byte() -> None:
    draw = random.Random(9)
    frame = conditions.gains(ASKED, lambda *at: lossy_and_small(*at) * draw.lognormvariate(0, 0.1))
    first, second = (tree.grow(frame, ASKED) for _ in range(2))
    assert first.text() == second.text()
    assert json.dumps(first.document()) == json.dumps(second.document())
    assert drawn.draw(first).svg == drawn.draw(second).svg


def test_the_document_says_all_that_the_text_does() -> None:
    document = tree.grow(conditions.gains(ASKED, lossy_and_small), ASKED).document()
    assert document["labels"] == {"h2": 18, "http/1.1": 36, "equal": 54}
    assert document["rules"][0] == {
        "when": "size below 10KB and loss at least 1%",
        "levels": {"size": ["1KB"], "loss": ["1%", "2%"]},
        "mark": "h2",
        "is_decided": True,
        "shares": {"h2": 1.0},
        "conditions": 18,
        "median_gain": pytest.approx(1.3),
    }
    assert document["accuracy"]["always_the_same"] == 0.5


def test_simulated_loads_give_the_rules_of_the_study() -> None:
    # NS34 and NS36 of the study: many objects lead to SPDY, and with few there is nothing to multiplex.
    asked = conditions.question(
        {
            "objects": [2, 16, 64],
            "size": ["100B", "1KB", "10KB"],
            "loss": ["0%", "2%"],
            "rtt": ["20ms", "200ms"],
            "protocol": ["http/1.1", "spdy/3"],
        }
    )

    def scenario(cell: dict[str, Any]) -> dict[str, Any]:
        return {
            "page": f"objects={cell['objects']},size={cell['size']}",
            "network": f"10/1mbit,{cell['rtt']},{cell['loss']}",
            "variant": {"protocol": cell["protocol"], "tls": "none"},
        }

    simulated = conditions.sweep(asked, scenario)
    found = tree.grow(conditions.gains_of(simulated, asked), asked)
    assert len(found.sample) == 36
    marks = {rule.words: rule.mark for rule in found.rules}
    by_condition = [marks[rules[0]] for rules in covering(found)]
    objects = [place[0] for place in found.sample.places]
    many = [mark for mark, at in zip(by_condition, objects, strict=True) if at > 0]
    few = [mark for mark, at in zip(by_condition, objects, strict=True) if at == 0]
    assert few.count("spdy/3") == 0
    assert many.count("spdy/3") > 0.75 * len(many)
    assert found.importance[0][0] == "objects"
    assert found.accuracy is not None
    assert found.accuracy.marks > found.accuracy.trivial


def test_trees_of_thousands_of_conditions_have_readable_words() -> None:
    factors = {f"factor {at}": list(range(4)) for at in range(6)}
    asked = conditions.question({**factors, "protocol": ["http/1.1", "h2"]})
    frame = conditions.gains(asked, lambda condition, _: 1.5 if sum(condition.values()) > 11 else 1.0)
    found = tree.grow(frame, asked)
    assert len(found.sample) == 4**6
    assert all(rule.support >= 4**6 / 100 for rule in found.rules)
    assert len(found.rules) == len(set(itertools.chain(*covering(found))))
