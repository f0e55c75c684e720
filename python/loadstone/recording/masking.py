"""Secrets of heads, replaced by text of the same shape, with a key that is forgotten.

What is secret: cookies, credentials, and fields that are called like tokens. Letters and digits become others
of their class, so lengths stay, in HPACK, too; equal words become equal ones. URLs and bodies stay: they are
what is served again. What others see of a recording (`loadstone page`) has its URLs replaced as well.
"""

import hashlib
import re
import secrets as random_source
from dataclasses import replace
from typing import Any

from loadstone.recording.exchange import Fields, RecordedExchange

_CLASSES = ("012", "3456789", "ace", "bdf", "iost", "ghlmnpru", "jkqvwxyz", "ABCDEF", "GHIJKLMNOPQRSTUVWXYZ")
"""Letters and digits by the length of their code in HPACK, those of hexadecimal numbers by themselves."""
_CLASS_OF = {letter: members for members in _CLASSES for letter in members}
_WORD = re.compile(r"[A-Za-z0-9]+|[^\x00-\x7f]+")
_SECRET = re.compile(
    r"cookie2?|set-cookie2?|(proxy-)?authorization|.*(token|secret|api-?key|session|csrf|xsrf|password|passwd"
    r"|credential|signature|bearer)|.*-auth|.*-auth-.*",
    re.IGNORECASE,
)
_ATTRIBUTES = re.compile(
    r"\s*(expires|max-age|domain|path|samesite|priority|secure|httponly|partitioned)\s*(=|$)", re.IGNORECASE
)
_SCHEMES = re.compile(r"(basic|bearer|digest|negotiate|ntlm|token) +", re.IGNORECASE)


class Mask:
    """Replaces the secrets of one recording, each word always by the same."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = random_source.token_bytes(32) if key is None else key

    def fields(self, fields: Fields) -> Fields:
        """Replace what is secret in header fields."""
        return tuple((name, self.value(name, value)) for name, value in fields)

    def exchange(self, one: RecordedExchange) -> RecordedExchange:
        """Replace what is secret in the heads of an exchange."""
        sent, got = self.fields(one.request_fields), self.fields(one.response_fields)
        return replace(one, request_fields=sent, response_fields=got)

    def value(self, name: str, value: str) -> str:
        """Replace the value of a field, if it is secret."""
        if not _SECRET.fullmatch(name):
            return value
        lower = name.lower()
        if lower.startswith("set-cookie"):
            return "\n".join(map(self._set_cookie, value.split("\n")))
        if lower.startswith("cookie"):
            return ";".join(map(self._pair, value.split(";")))
        scheme = _SCHEMES.match(value)
        begins = scheme.end() if scheme else 0
        return value[:begins] + self.text(value[begins:])

    def text(self, text: str) -> str:
        """Replace every word of a text."""
        return _WORD.sub(lambda word: self._word(word[0]), text)

    def _set_cookie(self, cookie: str) -> str:
        first, *attributes = cookie.split(";")
        kept = [one if _ATTRIBUTES.match(one) else self._pair(one) for one in attributes]
        return ";".join([self._pair(first), *kept])

    def _pair(self, pair: str) -> str:
        name, equals, value = pair.partition("=")
        return f"{name}={self.text(value)}" if equals else self.text(pair)

    def _word(self, word: str) -> str:
        state, replaced = hashlib.sha256(self._key), []
        for letter in word:
            members = _CLASS_OF.get(letter)
            if members is None:
                replaced.append("x" if letter.isascii() else "\N{LATIN SMALL LETTER E WITH ACUTE}")
            else:
                step = 1 + state.digest()[0] % (len(members) - 1)
                replaced.append(members[(members.index(letter) + step) % len(members)])
            state.update(letter.encode("utf-8", "surrogatepass"))
        return "".join(replaced)

    # --- what DevTools says ---

    def event(self, params: Any) -> Any:
        """Replace what is secret in the parameters of an event, at any depth."""
        if isinstance(params, list):
            return [self.event(one) for one in params]
        if not isinstance(params, dict):
            return params
        return {name: self._member(name, value) for name, value in params.items() if name not in _LEFT_OUT}

    def _member(self, name: str, value: Any) -> Any:
        if name in HEADS and isinstance(value, dict):
            return {field: self.value(field, str(content)) for field, content in value.items()}
        if name == "headers" and isinstance(value, list):
            return [self._listed(one) for one in value]
        if name == "cookie" and isinstance(value, dict):
            return {**value, "value": self.text(str(value.get("value", "")))}
        if name == "cookieLine" and isinstance(value, str):
            return self._set_cookie(value)
        return self.event(value)

    def _listed(self, field: Any) -> Any:
        if isinstance(field, dict) and isinstance(field.get("name"), str):
            return {**field, "value": self.value(field["name"], str(field.get("value", "")))}
        return self.event(field)


HEADS = {"headers", "requestHeaders", "responseHeaders"}
"""What heads are called in events of DevTools and of traces."""
_LEFT_OUT = {"headersText", "requestHeadersText", "postData", "postDataEntries"}
"""Texts of whole heads, and bodies of requests."""
