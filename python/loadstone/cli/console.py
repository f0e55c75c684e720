"""What all verbs share: examples in their help, and how they write."""

import json
from typing import Any

import click

from loadstone import text

FAILED = 1
INTERRUPTED = 130


def examples(*commands: str) -> str:
    """Make the end of a verb's help."""
    return "\b\nExamples:\n" + "\n".join(f"  loadstone {example}" for example in commands)


def emit(shown: str | dict[str, Any]) -> None:
    """Write text, or a document as JSON, to standard output."""
    click.echo(text.harmless_lines(shown) if isinstance(shown, str) else json.dumps(shown))


def say(message: str) -> None:
    """Write one line to standard error."""
    click.echo(f"loadstone: {text.harmless(' '.join(message.split()))}", err=True)
