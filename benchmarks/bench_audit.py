"""What an audit costs: CPU of all processes for each 1,000 files, and how many times that of parsing the same files.

    python benchmarks/bench_audit.py [FOLDER ...]      # default: the installed timm, accelerate and torchvision

The ratio to `ast.parse` in the same run tells more than seconds: it does not depend on the machine.
"""

from __future__ import annotations

import ast
import importlib.util
import resource
import sys
import warnings
from pathlib import Path

from torchstone.flows.audit import audit
from torchstone.flows.audit_files import find_sources

PACKAGES = ("timm", "accelerate", "torchvision")


def cpu() -> float:
    """Seconds of CPU of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def parsed(folder: Path) -> float:
    """Seconds of CPU for parsing every file once."""
    before = cpu()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path, _ in find_sources([folder], []):
            ast.parse(path.read_bytes())
    return cpu() - before


def folders(names: list[str]) -> list[Path]:
    """The folders that were named, or those of the installed packages."""
    if names:
        return [Path(name) for name in names]
    specs = [importlib.util.find_spec(name) for name in PACKAGES]
    return [Path(spec.origin).parent for spec in specs if spec is not None and spec.origin is not None]


def main() -> None:
    """One line for each folder."""
    for folder in folders(sys.argv[1:]):
        parse_s = parsed(folder)
        before = cpu()
        found = audit([folder])
        audit_s = cpu() - before
        print(f"{folder.name}: {found.files} files ({found.judged} judged), {audit_s:.1f} s of CPU, "
              f"{1000 * audit_s / found.files:.1f} s for 1,000 files, {audit_s / parse_s:.1f} times ast.parse")


if __name__ == "__main__":
    main()
