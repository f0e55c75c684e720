"""A real browser, driven over its DevTools pipe: loads pages cold or warm, and reads their timing.

A pipe crosses network namespaces, which a port does not. So the browser may be anywhere: on this machine's
network, or on a bed (`loadstone.bed`).

Read first: `Chromium.load`. Elsewhere: where it runs and what is seen of it there (`loadstone.bed`).
"""

from loadstone.browser.chromium import Chromium, Process
from loadstone.browser.devtools import BrowserError
from loadstone.browser.timing import PageTiming, ResourceTiming

__all__ = ["BrowserError", "Chromium", "PageTiming", "Process", "ResourceTiming"]
