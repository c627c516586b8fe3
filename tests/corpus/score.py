"""Prints how many faults of the corpus the doctor names first, and its false alarms: python tests/corpus/score.py."""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from watching import Verdict, expected, is_unseen, scripts, watched

FAMILIES = {"RUN3": "order and wiring", "RUN4": "meaning of the loss", "RUN5": "feeding", "RUN6": "health of numbers"}


def verdicts(paths: list[Path], jobs: int) -> dict[Path, Verdict]:
    """Each script's verdict, several at a time."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        done = pool.map(lambda path: watched(path, Path(folder) / path.parent.name / path.stem), paths)
        return dict(zip(paths, done, strict=True))


def family(script: Path) -> str:
    """The family of the code that is expected."""
    return FAMILIES.get((expected(script) or ("none",))[0][:4], "no rule yet")


def main(jobs: int = 2) -> None:
    """Runs the corpus and prints two tables."""
    sick, right = scripts("sick"), [*scripts("mended"), *scripts("healthy")]
    found = verdicts([*sick, *right], jobs)
    rows: dict[str, list[bool]] = defaultdict(list)
    for script in sick:
        is_first = not is_unseen(script) and found[script].first in expected(script)
        rows[family(script)].append(is_first)
        if not is_first:
            print(f"missed {script.stem}: {[one['code'] for one in found[script].findings]}", file=sys.stderr)
    print("| faults | scripts | cause named first |\n|---|---|---|")
    for name, hits in sorted(rows.items()):
        print(f"| {name} | {len(hits)} | {sum(hits)} ({sum(hits) / len(hits):.0%}) |")
    every = [hit for hits in rows.values() for hit in hits]
    print(f"| all | {len(every)} | {sum(every)} ({sum(every) / len(every):.0%}) |\n")
    print("| right scripts | scripts | with an error | with a warning |\n|---|---|---|---|")
    for folder in ("mended", "healthy"):
        mine = [found[script] for script in right if script.parent.name == folder]
        errors, warnings = (sum(bool(one.of(severity)) for one in mine) for severity in ("error", "warning"))
        print(f"| {folder} | {len(mine)} | {errors} | {warnings} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
