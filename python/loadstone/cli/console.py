"""What all verbs share: examples in their help, and how they write."""

import json
from typing import Any

import click

from loadstone import paths, text
from loadstone.cli import extras

FAILED = 1
INTERRUPTED = 130


class Verb(click.Command):
    """A verb of the command line: before it does anything, no path may be read and written."""

    def invoke(self, ctx: click.Context) -> Any:
        """Check the paths, then do it."""
        paths.refuse_overwriting(ctx)
        with extras.explained(self.name or ""):
            return super().invoke(ctx)


def examples(*commands: str) -> str:
    """Make the end of a verb's help."""
    return "\b\nExamples:\n" + "\n".join(f"  loadstone {example}" for example in commands)


def emit(shown: str | dict[str, Any]) -> None:
    """Write text, or a document as JSON, to standard output."""
    click.echo(text.harmless_lines(shown) if isinstance(shown, str) else json.dumps(shown))


def say(message: str) -> None:
    """Write one line to standard error."""
    click.echo(f"loadstone: {text.harmless(' '.join(message.split()))}", err=True)
