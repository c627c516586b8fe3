"""COD305: what a loader of test data gives decides which weights are kept, or when to stop."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    is_loader,
    training_loops,
)
from torchstone.parts.source.value import Value, origins
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own

NAME = re.compile(r"(^|_)(test|testing)(_|$|\d)|^test|test(loader|_dl|data|set)")


def check(source: Source) -> Iterator[Finding]:
    """One finding per saving, in the training's loop, under a comparison of scores of test data."""
    for play in source.plays:
        outer = {loop for inner in training_loops(play) for moment in play.inside(inner)[:1]
                 for loop in moment.loops[:moment.loops.index(inner)]}
        sick: dict[tuple[ast.AST, Value], Moment] = {}
        for moment in play.calls("torch.save", ".state_dict", "copy.deepcopy", ".save_pretrained", ".save_model"):
            tests = [guard.test for guard in moment.guards if guard.test is not None]
            if not any(loop in outer for loop in moment.loops) or not tests:
                continue
            chosen = next((one for test in tests if _compares(test) for one in origins(test) if _is_of_test(one)), None)
            if chosen is not None and not any(_is_of_validation(one) for test in tests for one in origins(test)):
                sick.setdefault((moment.guards[-1].node, chosen), moment)
        for moment in own(source, sick.values()):
            yield found(RULE, "weights are kept by a score of test data", where=at(moment))


def _compares(test: Value) -> bool:
    return any(one.kind == "op" and one.name in ("Lt", "Gt", "LtE", "GtE") for one in origins(test))


def _is_of_test(value: Value) -> bool:
    return is_loader(value) and bool(NAME.search(_words(value))) and not _is_of_validation(value)


def _is_of_validation(value: Value) -> bool:
    return is_loader(value) and any(word in _words(value) for word in ("val", "dev", "eval"))


def _words(value: Value) -> str:
    return (value.alias or value.name).rpartition(".")[2].lower()


RULE = Rule(
    code="COD305",
    name="source_test_used_for_selection",
    severity="warning",
    summary="test data choose the weights that are kept",
    why="The best of many epochs on the test set is better there than on any other data: the score is too good.",
    fix="Choose by a validation set of its own, and evaluate on the test set once, at the end.",
    source="Kapoor and Narayanan 2023, Leakage and the reproducibility crisis; github.com/thunlp/OpenNRE issue 125",
    check=check,
    trips=lambda: changed(TRAINING, ("val_loader", "test_loader"), ("(model(x), y).item()\n", "(model(x), y).item()\n"
                          "    if total < best:\n        torch.save(model.state_dict(), 'best.pt')\n")),
    passes=lambda: changed(TRAINING, ("(model(x), y).item()\n", "(model(x), y).item()\n"
                           "    if total < best:\n        torch.save(model.state_dict(), 'best.pt')\n")),
    wrong_when="the set is called test and another one is held out for the final score",
)
