"""The door is light: the help needs no framework and 0.3 seconds of CPU at most."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

HEAVY = ("torch", "torchvision", "numpy", "pydantic", "rich", "polars", "yaml", "PIL", "tokenizers", "safetensors")
HELP = "import sys; from torchstone.cli.main import main; main(sys.argv[1:])"
TELL = "\nimport json; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})), file=sys.stderr)"


def modules_after(script: str, *words: str) -> set[str]:
    """The top-level packages that are loaded once a script has run."""
    done = subprocess.run([sys.executable, "-c", script + TELL, *words], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["train", "--help"], ["evaluate", "--help"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    assert modules_after(HELP, *words) & set(HEAVY) == set()


def test_importing_torchstone_loads_nothing_heavy() -> None:
    assert modules_after("import sys, torchstone") & set(HEAVY) == set()


def test_reading_a_recipe_loads_no_framework() -> None:
    script = "import sys; from torchstone.core.recipe_file import recipe_for; recipe_for('x')"
    assert modules_after(script) & {"torch", "numpy", "polars", "rich"} == set()


def test_the_help_takes_less_than_300_ms_of_cpu() -> None:
    """The smallest of seven: whatever else the machine does can only add."""
    seconds = []
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "torchstone", "--help"], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 0.3
