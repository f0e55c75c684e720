"""The command line: each verb parses, calls one function of the library, prints."""

import os
import sys
from typing import NoReturn

import click

from loadstone import __version__
from loadstone.cli import captures, checks, commands, edges, loads, recordings, sockets, sweeps
from loadstone.cli.console import INTERRUPTED, examples, say
from loadstone.files import InputError

_BAD_INPUT = 2
_BROKEN_PIPE = 141
_COMPLETE = "_LOADSTONE_COMPLETE"
"""The variable by which shells ask, as click has it."""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples("compare synthetic:B", "load shop.har --network 3g --waterfall", "page shop.har"),
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="loadstone")
@click.pass_context
def loadstone(context: click.Context) -> None:
    """Web page load time, simulated packet by packet.

    PAGE is a HAR (.har; FILE.har#2 is the second page in the file, FILE.har#all all of them), a recording
    (.wacz), a page file (.page.json), a synthetic page (synthetic:B, synthetic:objects=64,size=10KB) or an
    example (example:shop). Files may be compressed (.gz, .zst, .xz, .zip); - is standard input. A directory
    stands for all pages in it.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _verb in (
    *(loads.page, loads.load, loads.compare, loads.whatif, loads.diff),
    *(checks.validate, checks.packets, checks.decode),
    *(sockets.serve, edges.edge, sockets.manifest, sockets.fetch, commands.bed),
    *(recordings.record, recordings.mirror),
    *(sweeps.sweep, sweeps.analyze, sweeps.reproduce),
    *(captures.capture, captures.generate),
):
    loadstone.add_command(_verb)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command; whatever goes wrong is one line and an exit code."""
    if asked := os.environ.get(_COMPLETE):
        sys.exit(_complete(asked))
    sys.exit(_run(arguments))


def _complete(asked: str) -> int:
    """Tell a shell how to complete the command (`bash_source`), or what comes next (`bash_complete`)."""
    from click.shell_completion import shell_complete

    return shell_complete(loadstone, {}, "loadstone", _COMPLETE, asked)


def _run(arguments: list[str] | None) -> int:
    try:
        # Not click's own `main`, which answers errors, Ctrl-C and broken pipes in its own way.
        with loadstone.make_context("loadstone", sys.argv[1:] if arguments is None else arguments) as context:
            loadstone.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; what is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except click.ClickException as error:
        say(_with_remedy(error))
        return _BAD_INPUT
    except InputError as error:
        say(str(error))
        return _BAD_INPUT
    return 0


def _with_remedy(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "loadstone"
    return f"{error.format_message().rstrip('.')} (see '{path} --help')"
