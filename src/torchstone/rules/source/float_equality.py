"""COD413: a computed loss is compared with a number for equality."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at_node

# A number that is not whole beside == or !=: where the text holds none, the tree need not be looked through.
FRACTION = re.compile(r"[=!]=[\s(\\-]*(\d*\.\d|\d+e-)|(\.\d*|\de-\d+)[\s)\\]*[=!]=")


def check(source: Source) -> Iterator[Finding]:
    """One finding per file with `loss == 0.1`, of a loss or of item(), against a number that is not whole."""
    for node in ast.walk(source.tree) if FRACTION.search(source.module.text) else ():
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            continue
        sides = [node.left, node.comparators[0]]
        numbers = [one for one in sides if isinstance(one, ast.Constant) and isinstance(one.value, float)]
        others = [one for one in sides if not isinstance(one, ast.Constant)]
        is_exact = bool(numbers) and numbers[0].value in (0.0, 1.0, -1.0)
        if numbers and others and not is_exact and _is_computed(others[0]):
            yield found(RULE, f"{ast.unparse(node)}: computed numbers are hardly ever equal",
                        where=at_node(source, node))
            return


def _is_computed(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("item", "mean", "sum", "std", "norm")
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.endswith("loss") or name in ("acc", "accuracy", "error")


RULE = Rule(
    code="COD413",
    name="source_float_equality",
    severity="advice",
    summary="a computed number is compared for equality",
    why="Sums of floats depend on their order: the last digit differs from device to device.",
    fix="Compare with a tolerance: math.isclose, torch.isclose.",
    source="Python documentation, Floating-point arithmetic: issues and limitations",
    check=check,
    trips=lambda: sketch("if loss.item() == 0.1:\n    stop()\n"),
    passes=lambda: sketch("if loss.item() < 0.1:\n    stop()\n"),
    wrong_when="the very number was set before",
)
