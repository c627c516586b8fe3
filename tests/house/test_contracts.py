"""Imports go down the floors, frameworks stay in engines, and the repository speaks of itself alone."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, __file__.rpartition("/")[0])

import measures

TEXT = {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".cfg", "", ".sh"}


def test_the_floors_hold() -> None:
    tool = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([tool, "--no-cache"], cwd=measures.REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def tracked() -> list[Path]:
    """The files that belong to the repository."""
    words = ["git", "ls-files", "-co", "--exclude-standard"]
    try:
        done = subprocess.run(words, cwd=measures.REPOSITORY, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = [measures.REPOSITORY / line for line in done.stdout.splitlines()]
    return [path for path in paths if path.is_file() and path.suffix in TEXT]


def test_no_file_speaks_of_a_place_outside_the_repository() -> None:
    """Real data is found in one place only: the fixture of tests/conftest.py."""
    allowed = {"tests/conftest.py", "tests/house/test_contracts.py"}
    places = re.compile(r"(?<![\w.])/work/|\.\./shared|(?<!\w)shared/(data|design|bench)|/home/\w+/|/root/")
    found = []
    for path in tracked():
        name = str(path.relative_to(measures.REPOSITORY))
        if name not in allowed:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            found += [f"{name}:{number}" for number, line in enumerate(lines, start=1) if places.search(line)]
    assert found == []


def test_only_the_store_writes() -> None:
    """Every write is whole or not there; binary caches and the trace have writers of their own with that promise."""
    own = {
        "core/store.py": "the writer itself", "core/trace.py": "appends whole lines",
        "engines/pytorch/checkpoint.py": "a folder, written aside and renamed",
        "engines/pytorch/sources/picture_cache.py": "a cache of bytes keyed by content",
        "flows/predictions.py": "arrays, through store.write_bytes",
        "flows/run_lock.py": "a lock, which has no content",
        "engines/pytorch/finders/memory_use.py": "a switch of the system, no file",
        "engines/pytorch/drive.py": "cuts the trace back to its checkpoint",
    }  # fmt: skip
    found = []
    for path in measures.python_files(measures.SOURCE):
        name = str(path.relative_to(measures.SOURCE))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _writes(node) and name not in own:
                found.append(f"{name}:{node.lineno}")
    assert found == []


def _writes(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("write_text", "write_bytes"):
        return not (isinstance(call.func.value, ast.Name) and call.func.value.id == "store")
    modes = [arg.value for arg in call.args[1:2] if isinstance(arg, ast.Constant)]
    is_open = isinstance(call.func, ast.Name) and call.func.id == "open"
    return is_open and any(letter in str(mode) for mode in modes for letter in "wa")


def test_every_verb_of_the_help_has_its_file() -> None:
    from torchstone.cli.main import VERBS

    for verb in VERBS:
        assert (measures.SOURCE / "cli" / f"{verb}.py").is_file()


def test_every_verb_has_a_story() -> None:
    from torchstone.cli.main import VERBS

    folder = measures.REPOSITORY / "tests" / "stories"
    told = "".join(path.read_text(encoding="utf-8") for path in folder.glob("test_*.py"))
    assert [verb for verb in VERBS if f'"{verb}"' not in told] == []


def test_every_verb_of_the_readme_exists() -> None:
    from torchstone.cli.main import VERBS

    text = (measures.REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"torchstone (?:train|new|plan|evaluate|report|rules|explain)\b", text))
    for verb in re.findall(r"^\| `(\w+)", text, flags=re.MULTILINE):
        assert verb in VERBS
