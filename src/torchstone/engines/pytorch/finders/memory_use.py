"""How much memory a piece of work needs at its peak."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import torch

STATUS, REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_of(work: Callable[[], None], device: torch.device) -> int | None:
    """Bytes in use at the peak while `work` runs, above none at all; None where it cannot be measured here.

    On an accelerator its allocator's peak, on a Linux CPU the process's largest resident size, reset before.
    """
    if device.type != "cpu":
        torch.accelerator.reset_peak_memory_stats()
        work()
        return int(torch.accelerator.max_memory_allocated())
    if not REFS.exists():
        work()
        return None
    try:
        REFS.write_text("5")  # resets VmHWM (proc(5))
    except OSError:
        work()
        return None
    work()
    found = re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text())
    return int(found.group(1)) * 1024 if found else None


def available(device: torch.device) -> int:
    """Bytes that a training may use here: free accelerator memory, or the machine's available memory and our own."""
    if device.type != "cpu":
        free, _ = torch.accelerator.get_memory_info(device)
        return int(free) + int(torch.accelerator.memory_allocated())
    meminfo = Path("/proc/meminfo")
    if not meminfo.exists():
        return 0
    kilobytes = dict(re.findall(r"(\w+):\s+(\d+) kB", meminfo.read_text()))
    own = re.search(r"VmRSS:\s+(\d+) kB", STATUS.read_text())
    return (int(kilobytes.get("MemAvailable", 0)) + (int(own.group(1)) if own else 0)) * 1024
