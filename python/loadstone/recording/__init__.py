"""Pages as a real browser loads them: recorded with heads, bodies, DevTools events and trace, in one file.

Read first: `exchange.RecordedExchange`, then `archive.Archive`, which is such a file, then `recorder.record`.
"""

from loadstone.recording.archive import Archive, LoadNote
from loadstone.recording.exchange import BodyState, RecordedExchange

__all__ = ["Archive", "BodyState", "LoadNote", "RecordedExchange"]
