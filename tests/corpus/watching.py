"""Runs a script of the corpus under the doctor, or plainly, in a folder of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent


@dataclass(frozen=True)
class Verdict:
    """What `torchstone watch --json` said of a script: its findings, its own output, and both exit codes."""

    findings: tuple[dict, ...]
    output: str
    code: int
    script_code: int
    not_judged: tuple[str, ...]

    @property
    def first(self) -> str | None:
        """The code of the first finding; errors come first."""
        return self.findings[0]["code"] if self.findings else None

    def of(self, *severities: str) -> list[str]:
        """Codes of the findings of these severities."""
        return [finding["code"] for finding in self.findings if finding["severity"] in severities]


def scripts(folder: str) -> list[Path]:
    """The scripts of one folder of the corpus."""
    return sorted((CORPUS / folder).glob("*.py"))


def expected(script: Path) -> tuple[str, ...]:
    """The codes that a sick script's first line names: any of them may be the first finding."""
    return tuple(re.findall(r"RUN\d{3}", script.read_text().splitlines()[0]))


def is_unseen(script: Path) -> bool:
    """Whether a sick script is of a kind that no rule sees yet."""
    return script.read_text().splitlines()[0].startswith("# unseen")


def twin(script: Path) -> Path:
    """The script from which a sick one differs by its fault alone."""
    return CORPUS / "mended" / f"{script.read_text().splitlines()[0].rpartition('Mended: ')[2]}.py"


def watched(script: Path, folder: Path) -> Verdict:
    """The verdict on a script, run in `folder`."""
    done = _run([sys.executable, "-m", "torchstone", "watch", "--json", str(script)], folder)
    *output, answer = done.stdout.rstrip("\n").split("\n")
    try:
        answer = json.loads(answer)
    except json.JSONDecodeError as error:
        raise AssertionError(f"{script.name} gave no answer: {done.stderr[-2000:]}") from error
    return Verdict(tuple(answer["findings"]), "\n".join(output), done.returncode, answer["exit_code"],
                   tuple(answer["not_judged"]))


def plain(script: Path, folder: Path) -> str:
    """What the script prints by itself, run in `folder`."""
    done = _run([sys.executable, str(script)], folder)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.rstrip("\n")


def _run(call: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    folder.mkdir(parents=True, exist_ok=True)
    quiet = {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    return subprocess.run(call, cwd=folder, env={**os.environ, **quiet}, capture_output=True, text=True, timeout=240)
