"""Every part and every rule says what it is; the file's name is the part's name."""

from __future__ import annotations

import ast
import sys

sys.path.insert(0, __file__.rpartition("/")[0])

import measures

# Rooms in which each file is one part of the file's name.
ROOMS = (
    "parts/schedules", "parts/splitters", "parts/metrics", "parts/tasks",
    "engines/pytorch/losses", "engines/pytorch/optimizers", "engines/pytorch/models", "engines/pytorch/averaging",
    "engines/pytorch/adapters",
    "engines/pytorch/distortions", "engines/pytorch/erasures", "engines/pytorch/edits", "engines/pytorch/audio",
    "engines/pytorch/norms", "engines/pytorch/inits",
    "engines/pytorch/transforms", "engines/pytorch/precisions", "engines/pytorch/strategies",
)  # fmt: skip


def parts() -> dict[str, ast.AST | None]:
    """Path → the definition that bears the file's name, None where there is none."""
    found: dict[str, ast.AST | None] = {}
    for room in ROOMS:
        for path in sorted((measures.SOURCE / room).glob("[!_]*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found[f"{room}/{path.name}"] = next((node for node in tree.body if path.stem in _names(node)), None)
    return found


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    return {str(getattr(node, "name", ""))}


def test_each_part_has_the_name_of_its_file() -> None:
    assert [path for path, node in parts().items() if node is None] == []


def test_each_part_that_is_a_function_has_a_docstring() -> None:
    silent = [
        path
        for path, node in parts().items()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not ast.get_docstring(node)
    ]
    assert silent == []


def test_options_of_parts_are_keyword_only_and_never_a_bag() -> None:
    made = {path: node.args for path, node in parts().items() if isinstance(node, ast.FunctionDef)}
    assert [path for path, arguments in made.items() if arguments.kwarg is not None] == []


def test_every_rule_file_holds_one_rule_with_examples() -> None:
    for path in sorted((measures.SOURCE / "rules").rglob("[!_]*.py")):
        text = path.read_text(encoding="utf-8")
        if path.parent.name in ("rules", "reading"):
            continue
        for word in ("RULE", "trips=", "passes=", "source=", "why=", "fix="):
            assert word in text, f"{path} lacks {word}"
