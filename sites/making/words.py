"""Text, program code and styles that read like real ones and compress like real ones, from a seed."""

import tomllib
from pathlib import Path
from random import Random

LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
WORDS, STEMS, NOUNS = (LISTS[name].split() for name in ("words", "stems", "nouns"))

PROPERTIES = [
    ("padding", ["4px 8px", "0", "12px 16px", ".5rem 1rem"]),
    ("margin", ["0 auto", "0 0 1em", "8px 0", "-1px 0 0"]),
    ("color", ["#222", "#5a5f66", "#0b57a4", "#8c1d18", "inherit"]),
    ("background-color", ["#fff", "#f4f5f7", "#fafafa", "transparent"]),
    ("border", ["1px solid #d7dadf", "0", "2px solid #0b57a4"]),
    ("border-radius", ["3px", "6px", "50%"]),
    ("font-size", [".875rem", "1rem", "1.25rem", "12px"]),
    ("line-height", ["1.2", "1.5", "1.65"]),
    ("display", ["flex", "block", "grid", "inline-block"]),
    ("align-items", ["center", "flex-start", "stretch"]),
    ("transition", ["opacity .2s ease", "transform .15s ease-out"]),
    ("box-shadow", ["0 1px 2px rgba(0,0,0,.12)", "none"]),
    ("min-height", ["0", "32px", "48px"]),
]


def word(random: Random) -> str:
    """Give a word; the first in the list come far more often, as in a language."""
    return WORDS[int(len(WORDS) * random.random() ** 2)]


def words(random: Random, count: int) -> str:
    """Give some words, the first with a capital."""
    return " ".join(word(random) for _ in range(count)).capitalize()


def text(random: Random, sentences: int) -> str:
    """Give a paragraph."""
    return " ".join(words(random, random.randint(6, 19)) + "." for _ in range(sentences))


def name(random: Random) -> str:
    """Give a name as functions have them."""
    return random.choice(STEMS) + random.choice(NOUNS)


def function(random: Random, number: int) -> str:
    """Give one function of a script, with branches, calls and a table of strings."""
    own, other, third = f"{name(random)}{number}", name(random), random.choice(NOUNS).lower()
    a, b = random.sample(["node", "list", "options", "key", "value", "target", "index", "next"], 2)
    pair = words(random, 2).lower()
    shape = random.randrange(4)
    if shape == 0:
        return (
            f"function {own}({a},{b}){{if(!{a}||{a}.length<{random.randint(1, 9)})return {b};"
            f"for(var i=0;i<{a}.length;i++){{var {third}={a}[i];if({third}.{other}&&{third}.{other}!=={b})"
            f'{b}=Object.assign({{}},{b},{{{third}:{third}.id,"{pair}":i}});}}return {b};}}\n'
        )
    if shape == 1:
        pairs = ",".join(f'{name(random)}:"{words(random, random.randint(2, 6))}"' for _ in range(5))
        return f"var {own}={{{pairs},limit:{random.randint(10, 900)},enabled:!{random.randint(0, 1)}}};\n"
    if shape == 2:
        return (
            f"function {own}({a}){{var {third}=document.createElement('div');{third}.className="
            f"'{random.choice(STEMS)}-{third} is-{word(random)}';"
            f"{third}.setAttribute('data-{word(random)}',{a});"
            f"{third}.textContent='{words(random, 4)}';return {third};}}\n"
        )
    return (
        f"var {own}=function({a},{b}){{switch({a}&&{a}.type){{"
        f"case'{other}':return{{...{b},{third}:{a}.{third}}};"
        f"case'{name(random)}':throw new Error('{words(random, 7)}: '+{a}.type);default:return {b}}}}};\n"
    )


def code(random: Random, size: int) -> str:
    """Give about `size` characters of a script that defines much and does nothing, as bundles do."""
    parts = ["(function(){'use strict';\n"]
    left = size
    while left > 0:
        parts.append(function(random, len(parts)))
        left -= len(parts[-1])
    return "".join([*parts, "})();\n"])


def styles(random: Random, size: int) -> str:
    """Give about `size` characters of a style sheet."""
    parts: list[str] = []
    left = size
    while left > 0:
        block = f"{random.choice(STEMS)}-{random.choice(NOUNS).lower()}"
        selector = random.choice(
            [f".{block}", f".{block}__{word(random)}", f".{block}.is-{word(random)}>a:hover"]
        )
        rules = [
            f"{key}:{random.choice(values)}"
            for key, values in random.sample(PROPERTIES, random.randint(2, 6))
        ]
        parts.append(f"{selector}{{{';'.join(rules)}}}\n")
        left -= len(parts[-1])
    return "".join(parts)


def outline(random: Random, points: int) -> str:
    """Give the path of a drawing."""
    steps = [f"q{random.randint(-20, 20)} {random.randint(-20, 20)} " for _ in range(points)]
    return "M50 50" + "".join(step + f"{random.randint(-30, 30)} {random.randint(-30, 30)}" for step in steps)
