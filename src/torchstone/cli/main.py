"""The door: finds the verb, loads its file alone, and turns what goes wrong into a message and an exit code."""

from __future__ import annotations

import difflib
import importlib
import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from torchstone.cli.interrupt import interrupted, wants_json
from torchstone.core import ranks
from torchstone.core.errors import StoneError

# Verb → its line in the help. The file torchstone/cli/VERB.py is loaded only when its verb is called.
VERBS = {
    "new": "Look at a folder or file and write torchstone.yaml.",
    "plan": "Show what a training would do, each choice with its reason.",
    "preflight": "Send one batch through the real pipeline, before a run.",
    "train": "Train on a folder, a file or a recipe.",
    "watch": "Run anyone's training script, and say what is wrong with it.",
    "audit": "Read training code without running it, and say what is wrong.",
    "doctor": "Say what the log of a training shows, after the fact.",
    "replay": "Run the batch again whose loss or gradient was not finite.",
    "evaluate": "Score a run on data that it has not seen.",
    "review": "Answer the checklist of twenty about a run, with evidence.",
    "eject": "Write the plan of a run as one plain PyTorch script.",
    "report": "Write one self-contained page about a run.",
    "rules": "List what is looked for.",
    "explain": "Show the page of one rule.",
}

# 0 clean, 1 findings of severity error, 2 unusable call or input; these stand apart from the tool's own answers, as 130
# does for Ctrl-C.
BROKEN_PIPE = 141  # 128 + SIGPIPE
BUG = 70  # EX_SOFTWARE of sysexits.h


class Verbs(click.Group):
    """A group whose commands are files."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in the order in which one needs them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a verb, from its file."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"torchstone.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb of a call; raises StoneError with the nearest one where there is none."""
        if args[0] in VERBS or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(args[0], VERBS, n=1)
        fix = f"did you mean: torchstone {near[0]}" if near else "torchstone --help"
        if not near and os.path.exists(args[0]):
            fix = f"to train on it: torchstone train {args[0]}"
        raise StoneError(f"there is no verb '{args[0]}'; verbs: {', '.join(VERBS)}", where="the call", fix=fix)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with one line each, without loading them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.command(
    cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]}, epilog="Begin with: torchstone train DATA"
)
@click.version_option(package_name="torchstone")
def torchstone() -> None:
    """Trains models that can be trusted, and tells what is wrong while there is time."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb; returns the exit code."""
    try:
        code = run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # `torchstone rules | head`: the reader has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def run(words: Sequence[str]) -> int:
    """Runs one verb; what it raises becomes a message and an exit code."""
    try:
        result = torchstone.main(list(words), prog_name="torchstone", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except BrokenPipeError:
        raise
    except SystemExit:  # click's own answer to a broken pipe, with a code that means something else here
        return BROKEN_PIPE
    except click.exceptions.NoArgsIsHelpError as error:
        say(error.format_message())
        return 2
    except (KeyboardInterrupt, click.Abort):
        return interrupted(words)
    except click.ClickException as error:
        return fail({"what": error.format_message(), "where": "the call", "fix": usage(error)}, words)
    except StoneError as error:
        return fail(error.to_json(), words, text=str(error))
    except Exception as error:
        return bug(error, words)


def fail(error: dict[str, Any], words: Sequence[str], *, text: str | None = None) -> int:
    """Tells a mistake that the user can mend, to a person or to a program; returns exit code 2."""
    if wants_json(words):
        print(json.dumps({"error": error}, ensure_ascii=False))
    else:
        say(text or str(StoneError(**error)))
    return 2


def usage(error: click.ClickException) -> str:
    """The call that shows what may be typed."""
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'torchstone'} --help"


def bug(error: Exception, words: Sequence[str]) -> int:
    """Tells a mistake of ours: short, with the way to report it; the traceback only where it was asked for."""
    what = f"{type(error).__name__}: {error}"
    if "--traceback" in words:
        traceback.print_exc()
    fix = "this is a mistake of torchstone, not yours: run it again with --traceback and report what it prints"
    code = fail({"what": what, "where": None, "fix": fix}, words)
    return BUG if code else code


def say(text: str) -> None:
    """Writes to standard error, with the rank in front where several processes run."""
    print(ranks.marked(text), file=sys.stderr)
