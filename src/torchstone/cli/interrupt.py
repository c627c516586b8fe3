"""The answer to Ctrl-C before a verb has one of its own; loaded first, so that it is there when the rest is not yet."""

from __future__ import annotations

import itertools
import json
import sys
from collections import namedtuple
from collections.abc import Sequence

from torchstone.core import ranks

INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def interrupted(words: Sequence[str]) -> int:
    """Says that the call was interrupted, to a person or, on the first rank, to a program; returns 130."""
    # An interrupt while a text is executed, as dataclasses do at import, leaves a mark by which CPython dies of SIGINT
    # at its end though it was caught (run_eval_code_obj in pythonrun.c); the next text takes it off: this makes one.
    namedtuple("Mark", "off")
    if wants_json(words):
        if ranks.is_first_rank():
            error = {"what": "interrupted before there was an answer", "where": "the call", "fix": None}
            print(json.dumps({"error": error}), flush=True)
    else:
        print(ranks.marked("\ninterrupted"), file=sys.stderr)
    return INTERRUPTED


def wants_json(words: Sequence[str]) -> bool:
    """Whether a call asks for an answer for programs; what stands behind a watched script is the script's own."""
    own = list(words)
    if own[:1] == ["watch"]:
        start = own.index("-m") + 1 if "-m" in own else 1
        script = next((n for n, word in enumerate(own) if n >= start and is_script(own, n)), len(own))
        own = own[:script]
    return "--json" in itertools.takewhile(lambda word: word != "--", own)


def is_script(words: Sequence[str], place: int) -> bool:
    """Whether a word of a call of `watch` is the script: no option, and no option's value, as far as words tell."""
    word, before = words[place], words[place - 1]
    return not word.startswith("-") and (before == "-m" or word.endswith(".py"))
