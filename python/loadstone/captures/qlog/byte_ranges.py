"""Which bytes of a stream have been seen."""

from bisect import bisect_left, bisect_right


class ByteRanges:
    """Bytes by their places, in ranges."""

    def __init__(self) -> None:
        self._bounds: list[int] = []
        """Where each range begins and ends, in turns."""
        self.count = 0
        """How many bytes there are."""

    def add(self, start: int, end: int) -> int:
        """Add those from `start` up to `end`; give how many of them were there before."""
        if start >= end:
            return 0
        first, last = bisect_left(self._bounds, start), bisect_right(self._bounds, end)
        begins_inside, ends_inside = first % 2 == 1, last % 2 == 1
        within = [start] * begins_inside + self._bounds[first:last] + [end] * ends_inside
        before = sum(within[1::2]) - sum(within[::2])
        self._bounds[first:last] = [start] * (not begins_inside) + [end] * (not ends_inside)
        self.count += end - start - before
        return before
