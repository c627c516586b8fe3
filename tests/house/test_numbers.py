"""The numbers of the house: what good codebases reach. A limit may be raised in a commit that says why."""

from __future__ import annotations

import ast
import statistics
import sys

sys.path.insert(0, __file__.rpartition("/")[0])

import measures

FILES = measures.python_files(measures.SOURCE)
FUNCTIONS = [function for path in FILES for function in measures.functions(path)]
CODE = [path for path in FILES if measures.num_lines(path) > 1]  # an __init__ of one sentence is no file of code


def test_files_are_short() -> None:
    lengths = {path: measures.num_lines(path) for path in CODE}
    too_long = {str(path): length for path, length in lengths.items() if length > 300}
    assert not too_long
    assert statistics.median(lengths.values()) <= 120


def test_functions_fit_on_a_screen() -> None:
    too_long = {f.place: f.lines for f in FUNCTIONS if f.lines > 60}
    assert not too_long
    lengths = [f.lines for f in FUNCTIONS]
    assert statistics.median(lengths) <= 10
    assert measures.share(lengths, 0.95) <= 35


def test_functions_take_few_parameters() -> None:
    """A part's own options are keyword-only and extra; six others are enough, eight for a verb."""
    limit = {"cli": 8}
    too_many = {
        f"{f.place} {f.name}": f.parameters
        for f in FUNCTIONS
        if f.parameters > limit.get(f.place.split("/")[2], 6) and f.parameters - f.keyword_only > 1
    }
    assert not too_many


def test_no_room_or_file_has_a_name_that_says_nothing() -> None:
    nothing = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager", "factory", "data2", "core2"}
    names = {part for path in FILES for part in path.relative_to(measures.SOURCE).with_suffix("").parts}
    assert not names & nothing


def test_every_public_name_says_what_it_is() -> None:
    modules = [str(path) for path in FILES if ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) is None]
    assert not modules
    silent = [f for f in FUNCTIONS if f.is_public and not f.has_docstring and not is_known(f.name)]
    assert not [f"{f.place} {f.name}" for f in silent]
    assert not [name for path in FILES for name in measures.classes_without_docstring(path)]


def is_known(name: str) -> bool:
    """Methods whose name is their whole meaning: those of a framework's own interface."""
    return name.rpartition(".")[2] in ("forward", "extra_repr")


def test_docstrings_begin_with_a_sentence_not_with_this_function() -> None:
    wrong = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                first = (ast.get_docstring(node) or "").partition("\n")[0]
                if first.lower().startswith(("this function", "this class", "this method")):
                    wrong.append(f"{path}:{node.lineno}")
    assert not wrong


def test_there_is_as_much_test_as_source() -> None:
    """A ratchet: now 0.4 lines of test per line of source; the goal is 1."""
    tests = sum(measures.num_lines(path) for path in measures.python_files(measures.REPOSITORY / "tests"))
    source = sum(measures.num_lines(path) for path in FILES)
    assert tests >= 0.4 * source


def test_few_names_stand_at_the_top() -> None:
    tree = ast.parse((measures.SOURCE / "__init__.py").read_text(encoding="utf-8"))
    names = [node for node in tree.body if not isinstance(node, ast.Expr)]
    assert len(names) <= 25


def test_nothing_unpickles_or_runs_what_it_reads() -> None:
    """torch.load may read pretrained weights of others, by its restricted reader that runs no code; nothing else."""
    calls = (
        "pickle.load", "import pickle", "import joblib", "= eval(", " exec(", "(eval(", "allow_pickle=True",
        "yaml.load(",
    )  # fmt: skip
    found = []
    for path in FILES:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if any(call in line for call in calls) or ("torch.load(" in line and "weights_only=True" not in line):
                found.append(f"{path.relative_to(measures.REPOSITORY)}:{number}")
    assert not found
