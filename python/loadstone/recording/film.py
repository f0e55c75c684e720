"""The film of a load: what the browser shows meanwhile, and in which steps its first view becomes complete.

The pictures are DevTools' own (`Page.startScreencast`). How complete each is follows from the histograms of
its colours, as the Speed Index has it (WebPageTest, Lighthouse): of what is different in the last picture
from the empty page, the part that is so already. The browser counts them itself, when the load is over.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from loadstone.browser.devtools import BrowserError, Devtools

REST_S = 0.3
"""How long the film goes on after the load event: a picture of it may be under way."""
_MOST_PICTURES = 600
_SENT_S = 30.0
_DIGITS = 5

_COUNT = """(boxes => {
  let owners = null, first = null, before = null, width = 0, height = 0;
  const found = [];
  const own = () => {
    owners = new Int32Array(width * height);
    boxes.forEach(([, left, top, right, bottom], at) => {
      const end = Math.min(right, width);
      for (let y = top; y < Math.min(bottom, height); ++y)
        if (end > left) owners.fill(at + 1, y * width + left, y * width + end);
    });
  };
  const histogram = data => {
    const counts = new Uint32Array(768);
    for (let at = 0; at < data.length; at += 4) {
      ++counts[data[at]]; ++counts[256 + data[at + 1]]; ++counts[512 + data[at + 2]];
    }
    return counts;
  };
  const changes = data => {
    const counts = new Map();
    for (let at = 0, pixel = 0; at < data.length; at += 4, ++pixel)
      if (data[at] != before[at] || data[at + 1] != before[at + 1] || data[at + 2] != before[at + 2])
        counts.set(owners[pixel], (counts.get(owners[pixel]) || 0) + 1);
    return [...counts].map(([owner, count]) => [owner ? boxes[owner - 1][0] : '', count]);
  };
  return {
    async add(text) {
      const bytes = Uint8Array.from(atob(text), one => one.charCodeAt(0));
      const picture = await createImageBitmap(new Blob([bytes]));
      if (!owners) {
        ({width, height} = picture);
        own();
        before = new Uint8ClampedArray(4 * width * height).fill(255);
        first = histogram(before);
      }
      const canvas = new OffscreenCanvas(width, height).getContext('2d', {willReadFrequently: true});
      canvas.drawImage(picture, 0, 0, width, height);
      const {data} = canvas.getImageData(0, 0, width, height);
      found.push({counts: histogram(data), changed: changes(data)});
      before = data;
    },
    all() {
      const last = found.length ? found[found.length - 1].counts : [];
      return found.map(({counts, changed}) => {
        let there = 0, whole = 0;
        last.forEach((count, at) => {
          whole += Math.abs(count - first[at]);
          there += Math.min(Math.abs(counts[at] - first[at]), Math.abs(count - first[at]));
        });
        return {complete: whole ? there / whole : 1, changed};
      });
    },
  };
})"""

Box = tuple[str, int, int, int, int]
"""What is there, by its URL or none, and the left, top, right and bottom edge in pixels of the view."""


@dataclass(frozen=True)
class Picture:
    """What was shown from a moment on."""

    at: float
    """Seconds since 1970."""
    complete: float
    """Which share of what there is to see in the end was there."""
    changed: Mapping[str, int]
    """How many pixels have changed with it, by whose URL's place they are in; of none if in nobody's."""


@dataclass(frozen=True)
class Step:
    """A part of the first view is there, for good."""

    ms: float
    """Since the navigation."""
    share: float
    """Of all that there is to see in the end."""
    of: str
    """In which image's or frame's place, by URL; nothing if it was in nobody's."""


class Film:
    """Pictures of a page while it loads."""

    def __init__(self, devtools: Devtools, session: str) -> None:
        """Begin; the events of the session have to come to `take`."""
        self._devtools = devtools
        self._session = session
        self._shown: list[tuple[float, str]] = []
        until = monotonic() + _SENT_S
        devtools.post("Page.startScreencast", until, session, format="jpeg", quality=80, everyNthFrame=1)

    def take(self, event: Mapping[str, Any]) -> None:
        """Take an event; pictures are kept, and acknowledged, so that the next one comes."""
        params = event["params"]
        if event["method"] == "Page.screencastFrame" and event.get("sessionId") == self._session:
            if len(self._shown) < _MOST_PICTURES:
                self._shown.append((params["metadata"]["timestamp"], params["data"]))
            number = params["sessionId"]
            until = monotonic() + _SENT_S
            self._devtools.post("Page.screencastFrameAck", until, self._session, sessionId=number)

    def pictures(
        self, frame: str, boxes: Sequence[Box], until: float, between: tuple[float, float]
    ) -> list[Picture]:
        """Look at what was shown between two moments, in seconds since 1970; the page has to be there still.

        Of boxes that lie on one another the last one has the pixels.
        """
        call, name = self._devtools.call, self._session
        call("Page.stopScreencast", until, name)
        # A world of its own, in which no script of the page has changed what there is.
        world = call("Page.createIsolatedWorld", until, name, frameId=frame)["executionContextId"]

        def run(expression: str) -> Any:
            given = {
                "expression": expression,
                "contextId": world,
                "awaitPromise": True,
                "returnByValue": True,
            }
            answer = call("Runtime.evaluate", until, name, **given)
            if "exceptionDetails" in answer:
                raise BrowserError(f"pictures: {answer['exceptionDetails'].get('text', 'not to be had')}")
            return answer["result"].get("value")

        run(f"void (globalThis.film = {_COUNT}({json.dumps(boxes)}))")
        shown = [(at, data) for at, data in self._shown if between[0] <= at <= between[1]]
        for _, data in shown:
            run(f"film.add({json.dumps(data)})")
        counted = zip(shown, run("film.all()"), strict=True)
        return [Picture(at, one["complete"], _added(one["changed"])) for (at, _), one in counted]


def speed_index_ms(pictures: Sequence[Picture], began: float) -> float | None:
    """Give the Speed Index of a film of a load that began so many seconds after 1970, in ms."""
    if not pictures:
        return None
    index, since, missing = 0.0, began, 1.0
    for one in pictures:
        index += (one.at - since) * missing
        since, missing = one.at, 1 - one.complete
    return index * 1e3


def steps(pictures: Sequence[Picture], began: float) -> list[Step]:
    """Give in which steps what there is to see came to stay: all shares together are 1.

    A step is split by the places in which pixels have changed with its picture.
    """
    found, after = [], 1.0
    # What is gone later was not there for good.
    for at in reversed(range(len(pictures))):
        one, before = pictures[at], pictures[at - 1].complete if at else 0.0
        gained = after - min(after, before)
        after = min(after, before)
        changed = sum(one.changed.values())
        for of, count in one.changed.items():
            share = round(gained * count / changed, _DIGITS)
            if share > 0:
                found.append(Step(round((one.at - began) * 1e3, 3), share, of))
    return found[::-1]


def _added(counted: Sequence[Sequence[Any]]) -> dict[str, int]:
    changed: dict[str, int] = {}
    for url, count in counted:
        changed[str(url)] = changed.get(str(url), 0) + int(count)
    return changed
