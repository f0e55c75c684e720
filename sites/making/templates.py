"""Sources with `{{words 5}}` and the like in them.

`{{repeat i 12}}...{{end}}` is written twelve times, with i from 0; `{{i}}`, `{{i+1}}`, `{{i%4}}`, `{{i:02}}`
give it. `{{words N}}`, `{{text SENTENCES}}`, `{{code SIZE}}`, `{{styles SIZE}}` and `{{outline POINTS}}` are
made by `words`. `{{number LOW HIGH}}` gives a number.
"""

import re
from random import Random

from making import words

TAG = re.compile(r"\{\{(.*?)\}\}")
VARIABLE = re.compile(r"(\w+)(?:([+*%/])(\d+))?(?::(\w+))?$")
MAKERS = {
    "words": words.words,
    "text": words.text,
    "code": words.code,
    "styles": words.styles,
    "outline": words.outline,
}


def fill(source: str, random: Random, numbers: dict[str, int] | None = None) -> str:
    """Give the source with everything filled in, also the numbers that are named."""
    parts = TAG.split(source)
    filled, end = block(parts, 0, numbers or {}, random)
    if end < len(parts):
        raise ValueError("{{end}} without {{repeat}}")
    return filled


def block(parts: list[str], at: int, numbers: dict[str, int], random: Random) -> tuple[str, int]:
    """Fill in from a part on, up to the end of its block; text and tags take turns."""
    done: list[str] = []
    while at < len(parts):
        done.append(parts[at])
        if at + 1 == len(parts):
            return "".join(done), at + 1
        tag, at = parts[at + 1].split(), at + 2
        if tag[0] == "end":
            return "".join(done), at
        if tag[0] == "repeat":
            start = at
            for number in range(int(tag[2])):
                inner, at = block(parts, start, {**numbers, tag[1]: number}, random)
                done.append(inner)
        else:
            done.append(piece(tag, numbers, random))
    return "".join(done), at


def piece(tag: list[str], numbers: dict[str, int], random: Random) -> str:
    """Give what stands for one tag."""
    if tag[0] in MAKERS:
        return MAKERS[tag[0]](random, int(tag[1]))
    if tag[0] == "number":
        return str(random.randint(int(tag[1]), int(tag[2])))
    found = VARIABLE.match(tag[0])
    if not found or found[1] not in numbers:
        raise ValueError(f"nothing is called {tag[0]!r} here")
    number, operand = numbers[found[1]], int(found[3] or 0)
    match found[2]:
        case "+":
            number += operand
        case "*":
            number *= operand
        case "%":
            number %= operand
        case "/":
            number //= operand
    return format(number, found[4] or "")
