"""A tree drawn from left to right: a question at each fork, a rule at the end of each branch."""

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from loadstone import text
from loadstone.analysis.decision_rules import Node, branch, rule
from loadstone.analysis.plots.canvas import (
    SIZE,
    SMALL,
    WIDTH,
    Canvas,
    Plot,
    fill,
    label,
    plotting,
    room,
    stroke,
)
from loadstone.analysis.question import named, spelled
from loadstone.html import palette

if TYPE_CHECKING:
    from loadstone.analysis.tree import Tree


_ROW = 46.0
_HEAD = 30.0
_FORK = 18.0
_BAR = 90.0
_FIGURES = 10 + room(["100% of 1,000, gain 10.00"])


def draw(tree: "Tree") -> Plot:
    """Draw it; where there are no rules, what was found instead."""
    with plotting():
        return _Drawing(tree).plot()


class _Drawing:
    """A tree that is being drawn."""

    def __init__(self, tree: "Tree") -> None:
        self.tree = tree
        compared = tree.question.compared
        levels = [named(compared, level) for level in tree.question.factors[compared]]
        # Each level looks as it does in the other plots.
        self.looks = [levels.index(name) for name in tree.sample.classes[:-1]]
        self.leaves = list(tree.root.leaves())
        self.widths: list[float] = []
        self._measure(tree.root, 0)
        words = (
            [rule(leaf, tree.sample, tree.thresholds).word for leaf in self.leaves]
            if len(tree.sample)
            else []
        )
        self.verdict = room([label(word) for word in words], SIZE) + 14
        self.begin = 8 + sum(self.widths)
        legend = sum(room([label(name)]) + 44 for name in tree.sample.classes)
        width = max(self.begin + self.verdict + _BAR + _FIGURES, legend + 16, WIDTH)
        self.canvas = Canvas(width, _HEAD + _ROW * max(1, len(self.leaves)) + 8)
        self.axes: Axes = self.canvas.sheet()

    def plot(self) -> Plot:
        tree = self.tree
        if not tree.root.branches:
            note = tree.note or "Without a question there is no rule."
            self._write(8, _HEAD + 20, note)
            return self.canvas.finish(_name(tree), tree.title, note)
        self._legend()
        self._node(tree.root, 0, 0)
        caption = (
            "Each end is a rule: its mark, the share of each label among its conditions, the greatest share "
            f"in figures, how many conditions there are, and their median gain. {tree.trust()}"
        )
        return self.canvas.finish(_name(tree), tree.title, caption)

    def _measure(self, node: Node, depth: int) -> None:
        for child in node.branches:
            wide = room([self._words(node, child)]) + _FORK + 6
            self.widths += [0.0] * (depth + 1 - len(self.widths))
            self.widths[depth] = max(self.widths[depth], wide)
            self._measure(child, depth + 1)

    def _words(self, node: Node, child: Node) -> str:
        return text.shorten(text.harmless(branch(node, child, self.tree.sample)), 34)

    def _node(self, node: Node, depth: int, row: int) -> tuple[float, int]:
        """Draw what is below a node; give its height, and the first row after it."""
        left = 8 + sum(self.widths[:depth])
        if not node.branches:
            y = _HEAD + (row + 0.5) * _ROW
            self._line([left, self.begin], [y, y])
            self._leaf(node, y)
            return y, row + 1
        heights = []
        for child in node.branches:
            height, row = self._node(child, depth + 1, row)
            heights.append(height)
            self._line([left, left + _FORK / 2, left + _FORK], [0.0, height, height], skip=1)
            self._line([left + _FORK, left + self.widths[depth]], [height, height])
            self._write(left + _FORK, height - 6, self._words(node, child))
        middle = sum(heights) / 2
        self._line([left + _FORK / 2] * 2, [min(heights), max(heights)])
        self._line([left, left + _FORK / 2], [middle, middle])
        return middle, row

    def _leaf(self, leaf: Node, y: float) -> None:
        found = rule(leaf, self.tree.sample, self.tree.thresholds)
        colour = palette.INK if found.is_decided else palette.MUTED
        self._write(self.begin + 6, y + 4, label(found.word), SIZE, colour, 700 if found.is_decided else 400)
        left = self.begin + self.verdict
        at = left
        for place, count in enumerate(leaf.counts):
            wide = _BAR * count / leaf.support
            if count:
                self._box(at, y - 8, wide, place)
            at += wide
        about = f"{found.likelihood:.0%} of {found.support:,}, gain {found.gain:.2f}"
        self._write(left + _BAR + 10, y + 4, about, colour=palette.MUTED)

    def _legend(self) -> None:
        left = 8.0
        for place, name in enumerate(self.tree.sample.classes):
            self._box(left, 6, 22, place)
            words = label(name)
            self._write(left + 28, 18, words, colour=palette.MUTED)
            left += 44 + room([words])

    def _box(self, left: float, top: float, wide: float, place: int) -> None:
        """Fill a field for a label: equal ones stay empty, the others have a pattern each."""
        is_equal = place == len(self.tree.sample.classes) - 1
        look = 0 if is_equal else self.looks[place]
        colour = palette.MUTED if is_equal else stroke(look).colour
        if not is_equal:
            fill(self.axes, (left, top, left + wide, top + 16), look, colour)
        self.axes.add_artist(
            Rectangle((left, top), wide, 16, facecolor="none", edgecolor=colour, linewidth=1)
        )

    def _line(self, xs: list[float], ys: list[float], skip: int = 0) -> None:
        self.axes.add_artist(Line2D(xs[skip:], ys[skip:], color=palette.MUTED, linewidth=1.2))

    def _write(
        self,
        x: float,
        y: float,
        what: str,
        size: float = SMALL,
        colour: str = palette.INK,
        weight: int = 400,
    ) -> None:
        self.axes.text(x, y, what, fontsize=size, color=colour, fontweight=weight, va="baseline")


def _name(tree: "Tree") -> str:
    which = spelled(tree.challengers[0]) if len(tree.challengers) == 1 else "best"
    return "-".join(["tree", which, *tree.only])
