"""Findings about code: where they point to, and the edits that mend it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from torchstone.core.finding import Where
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.outputs import Output, output_of
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import Loss, losses
from torchstone.parts.source.value import Value


def at(what: Moment | Value) -> Where:
    """The file and line of a moment or value."""
    return Where(path=what.path, line=what.line or None)


def at_node(source: Source, node: ast.AST) -> Where:
    """The file and line of a node of the file's own tree."""
    return Where(path=source.path, line=getattr(node, "lineno", None))


def edit(node: ast.AST, text: str) -> dict[str, Any]:
    """An edit that replaces a node by a text: for the key "edits" of a finding's evidence, which `--fix` applies.

    Lines from 1, columns in UTF-8 bytes from 0, as ast counts them; the end is exclusive.
    """
    return {
        "line": node.lineno, "column": node.col_offset,  # type: ignore[attr-defined]  # a node of the tree has a place
        "end_line": node.end_lineno, "end_column": node.end_col_offset, "text": text,  # type: ignore[attr-defined]
    }  # fmt: skip


def insert_argument(call: ast.Call, text: str) -> dict[str, Any]:
    """An edit that adds an argument at the end of a call that has some: before its closing bracket."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    last = max(given, key=lambda one: (one.end_lineno or 0, one.end_col_offset or 0))
    return {
        "line": last.end_lineno, "column": last.end_col_offset, "end_line": last.end_lineno,
        "end_column": last.end_col_offset, "text": f", {text}",
    }  # fmt: skip


def own(source: Source, moments: Iterable[Moment]) -> Iterator[Moment]:
    """The moments that stand in files of the project, each place once: also in functions that the file imports."""
    yield from source.each_place(moments)


def given_to_losses(source: Source, name: str, *kinds: Output) -> Iterator[tuple[Moment, Output, Value]]:
    """The losses of this name that are given one of these kinds of output on every branch: with the kind, and the step
    that made it.
    """
    for play in source.plays:
        for moment, loss in own_losses(source, play, name):
            kind, made = output_of(loss[2])
            if made is not None and kind in kinds:
                yield moment, kind, made


def own_losses(source: Source, play: Play, name: str) -> Iterator[tuple[Moment, Loss]]:
    """The losses of this name among the calls of a play, each place once."""
    told = dict(losses(play))
    for moment in own(source, play.calls()):
        if moment in told and told[moment][0] == name:
            yield moment, told[moment]


def in_module(moment: Moment) -> bool:
    """Whether a moment stands in a method of a module of torch."""
    owner = moment.functions[-1].owner if moment.functions else None
    names = {base.rpartition(".")[2] for base in owner.base_names()} if owner is not None else set()
    return bool(names & {"Module", "LightningModule", "PreTrainedModel"})


def in_forward(moment: Moment) -> bool:
    """Whether a moment stands in the forward() of a module of torch."""
    return in_module(moment) and moment.functions[-1].name == "forward"


def asks_for_mode(moment: Moment) -> bool:
    """Whether a branch around a moment asks for the mode of the module."""
    tests = [getattr(guard.node, "test", None) for guard in moment.guards]
    return any(isinstance(test, ast.AST) and "training" in ast.unparse(test) for test in tests)
