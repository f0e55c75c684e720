"""A request and its response, as a browser saw them."""

from dataclasses import dataclass
from enum import Enum

Fields = tuple[tuple[str, str], ...]
"""Header fields in their order; what is repeated is there several times."""


class BodyState(Enum):
    """How the body of a response was had."""

    WHOLE = "whole"
    """As the page got it, to the byte."""
    TEXT = "text"
    """As the page got it, but Chromium gave text: bytes that its charset does not know are lost."""
    AGAIN = "again"
    """Asked for once more after the load, because the browser had it no more."""
    CUT = "cut"
    """What had come when the load was over, or the first part of a very long one."""
    MISSING = "missing"
    """It could not be had; it is empty here."""


@dataclass(frozen=True)
class RecordedExchange:
    """A request and its response that went over the network."""

    url: str
    method: str
    request_fields: Fields
    """As sent; without those that the protocol itself adds, where Chromium does not tell."""
    request_body: bytes
    status: int
    """As it came, so 304 where a cache had the body."""
    response_fields: Fields
    """As they came. The body below has no content coding any more, whatever they say."""
    body: bytes
    """Without content and transfer coding."""
    body_state: BodyState
    wire_bytes: int | None
    """The body as it came, with its content coding; with the head where the browser only says both."""
    raw: bytes | None
    """The body with its content coding, where it is known: where there is none, or where it was kept."""
    resource_type: str
    """In the words of DevTools: Document, Stylesheet, Script, Image, Font, Fetch, ..."""
    frame: str
    """The frame that asked; empty for workers."""
    load: int
    """In which load, from 1."""
    request: str
    """DevTools' number of the request; redirects share one."""
    protocol: str
    """h2, http/1.1, ..., in the words of DevTools."""
    address: str
    """Of the server, without its port; empty if it is not known."""
    started: float
    """Seconds since 1970."""

    def response_field(self, name: str) -> str | None:
        """Give the value of a header field, the first if there are several."""
        found = (value for known, value in self.response_fields if known.lower() == name.lower())
        return next(found, None)
