"""Runs a script of the corpus under the doctor, or plainly, in a folder of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
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
    """The script from which a sick one differs by its fault alone: one of those made for it, or a healthy one."""
    name = f"{script.read_text().splitlines()[0].rpartition('Mended: ')[2]}.py"
    mended = CORPUS / "mended" / name
    return mended if mended.is_file() else CORPUS / "healthy" / name


def reseeded(script: Path, folder: Path, by: int) -> Path:
    """A copy of a script in which each seed is `by` higher."""
    copy = folder / script.name
    seeds = r"((?:manual_seed|set_seed|seed_everything|random\.seed)\()(\d+)"
    copy.write_text(re.sub(seeds, lambda found: f"{found[1]}{int(found[2]) + by}", script.read_text()))
    return copy


def watched(script: Path, folder: Path) -> Verdict:
    """The verdict on a script, run in `folder`."""
    done = _run("watch", script, folder)
    *output, answer = done.stdout.rstrip("\n").split("\n")
    try:
        answer = json.loads(answer)
    except json.JSONDecodeError as error:
        raise AssertionError(f"{script.name} gave no answer: {done.stderr[-2000:]}") from error
    return Verdict(tuple(answer["findings"]), "\n".join(output), done.code, answer["exit_code"],
                   tuple(answer["not_judged"]))


def plain(script: Path, folder: Path) -> str:
    """What the script prints by itself, run in `folder`."""
    done = _run("plain", script, folder)
    assert done.code == 0, done.stderr[-2000:]
    return done.stdout.rstrip("\n")


@dataclass(frozen=True)
class _Done:
    """How a run ended."""

    code: int
    stdout: str
    stderr: str


# One server per thread that asks; it ends with its input, that is, with this process.
_servers = threading.local()


def _run(how: str, script: Path, folder: Path) -> _Done:
    folder.mkdir(parents=True, exist_ok=True)
    server = getattr(_servers, "one", None)
    if server is None or server.poll() is not None:
        quiet = {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        server = _servers.one = subprocess.Popen(
            [sys.executable, str(CORPUS / "forked.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **quiet},
        )  # fmt: skip
    print(json.dumps({"call": [how, str(script)], "folder": str(folder)}), file=server.stdin, flush=True)
    code = server.stdout.readline()
    assert code, f"the process that runs the scripts died at {script.name}"
    return _Done(int(code), *((folder / name).read_text(errors="replace") for name in ("stdout", "stderr")))
