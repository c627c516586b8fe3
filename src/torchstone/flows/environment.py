"""`doctor env`: what torchstone runs on, told without loading a framework."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from typing import Any

PACKAGES = ("torch", "torchvision", "numpy", "polars", "pydantic", "safetensors", "pillow")
_SECONDS = 20


def environment() -> dict[str, Any]:
    """Versions, extras with what each lacks, processor cores that may be used, memory in bytes, graphics devices.

    devices: None where no tool of a driver tells, which is not the same as none being there.
    """
    return {
        "torchstone": metadata.version("torchstone"), "python": platform.python_version(),
        "platform": platform.platform(), "packages": {name: version(name) for name in PACKAGES}, "extras": extras(),
        "cores": cores(), "memory": memory(), "devices": devices(),
    }  # fmt: skip


def version(package: str) -> str | None:
    """The installed version, None where there is none; the package is not imported."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def extras() -> dict[str, list[str]]:
    """Each extra of torchstone and those of its packages that are not installed."""
    names = metadata.metadata("torchstone").get_all("Provides-Extra") or ()
    needed: dict[str, list[str]] = {name: [] for name in names}
    for line in metadata.requires("torchstone") or ():
        marked = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", line)
        name = re.match(r"[\w.-]+", line)
        if marked and name and marked[1] in needed:
            needed[marked[1]].append(name[0])
    return {extra: sorted({name for name in names if name != "torchstone" and version(name) is None})
            for extra, names in needed.items() if extra != "dev"}  # fmt: skip


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int | None:
    """The machine's memory in bytes; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def devices() -> list[str] | None:
    """The names of graphics devices, as the driver's own tool lists them; None where there is no such tool."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    words = [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=True)
        return [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return None


def lines(facts: dict[str, Any]) -> Iterator[str]:
    """The facts for a person."""
    yield f"torchstone  {facts['torchstone']} on Python {facts['python']}, {facts['platform']}"
    yield "packages    " + ", ".join(f"{name} {number or 'missing'}" for name, number in facts["packages"].items())
    for extra, missing in facts["extras"].items():
        yield f"extra       {extra}: " + (f"lacks {', '.join(missing)}" if missing else "complete")
    size = facts["memory"]
    yield f"processor   {facts['cores']} cores" + (f", {size / 2**30:.1f} GiB of memory" if size else "")
    told = facts["devices"]
    yield "devices     " + ("; ".join(told) if told else "none listed: no nvidia-smi" if told is None else "none")
