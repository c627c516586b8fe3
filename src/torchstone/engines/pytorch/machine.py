"""What this machine offers a training, asked and not assumed."""

from __future__ import annotations

import importlib.util
import os
import platform
from typing import Any

import torch

from torchstone.core import ranks
from torchstone.core.errors import StoneError
from torchstone.parts.choices.memory import SHARE


def machine_facts(device: str | None = None) -> dict[str, Any]:
    """Device, cores, memory and ranks, as the plan reads them.

    device: given, `cpu` plans for the CPU although there is an accelerator. In the facts "cpu", "cuda", "mps", …;
    has_bf16: whether the device has units for it (on a CPU avx512_bf16 or AMX); num_cores: those that this process may
    use; memory_budget: bytes that a rank's training may plan with, 0 where the memory cannot be asked;
    world: ranks of torchrun, local_world: those on this machine.
    """
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if device == "cpu":
        accelerator = None
    return {
        "device": accelerator.type if accelerator else "cpu",
        "has_accelerator": accelerator is not None,
        "accelerator": _accelerator_name(accelerator),
        "num_accelerators": torch.accelerator.device_count() if accelerator else 0,
        "has_bf16": _has_bf16(accelerator),
        "num_cores": num_cores(),
        "memory_gib": memory_gib(),
        "memory_budget": memory_budget(accelerator),
        "has_bitsandbytes": importlib.util.find_spec("bitsandbytes") is not None,
        "world": ranks.world(),
        "local_world": ranks.local_world(),
    }


def num_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_gib() -> float:
    """Memory in GiB that this process may use: the machine's, or its container's if that is less; 0 if unknown."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError, AttributeError):
        return 0.0
    return min(whole, _container_gib())


def _container_gib() -> float:
    """The limit of the control group (Linux, version 2, then 1); infinite without one."""
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, encoding="ascii") as file:
                text = file.read().strip()
        except OSError:
            continue
        return int(text) / 2**30 if text.isdigit() else float("inf")
    return float("inf")


def memory_budget(accelerator: torch.device | None) -> int:
    """Bytes that one rank may plan with: 70 % of its device's memory, or of its part of the machine's; 0 if unknown.

    Of all memory, not of what is free just now: every rank must come to the same plan.
    """
    if accelerator is not None and accelerator.type != "mps":  # which shares the machine's memory
        _, total = torch.accelerator.get_memory_info(torch.accelerator.current_device_index())
        return int(total * SHARE)
    return int(memory_gib() * 2**30 * SHARE / ranks.local_world())


def _accelerator_name(accelerator: torch.device | None) -> str | None:
    if accelerator is None:
        return None
    if accelerator.type == "cuda":
        return torch.cuda.get_device_name()
    return accelerator.type


def _has_bf16(accelerator: torch.device | None) -> bool:
    if accelerator is None:
        return _cpu_flag("avx512_bf16") or _cpu_flag("amx_bf16")
    if accelerator.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return False


def _cpu_flag(flag: str) -> bool:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            return any(line.startswith("flags") and flag in line.split() for line in file)
    except OSError:
        return False


def current_type() -> str:
    """The type of the machine's accelerator, or "no accelerator"."""
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return "no accelerator" if accelerator is None else accelerator.type


def known_device(name: str) -> torch.device:
    """The device that a recipe names; raises StoneError where there is none of that name, or this machine lacks it."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise StoneError(f"'{name}' is no device", where="train.device", fix="use cpu, cuda or mps") from error
    if device.type == "cpu":
        return device
    has = current_type()
    if has != device.type:
        raise StoneError(f"'{name}' is not here; this machine has {has}", where="train.device", fix="use cpu")
    num = torch.accelerator.device_count()
    if ":" in name and device.index >= num:
        raise StoneError(f"'{name}' is not here; this machine has {num} of them, counted from 0", where="train.device",
                         fix=f"use {device.type}:{num - 1} or {device.type}")
    return device


def pick_device(name: str) -> torch.device:
    """The device of this rank, chosen for what follows; raises StoneError where this machine has none of that name."""
    device = known_device(name)
    if device.type == "cpu":
        return device
    if ":" not in name:
        device = torch.device(device.type, int(os.environ.get("LOCAL_RANK", "0")))
    torch.accelerator.set_device_index(device.index)
    return device


def environment() -> dict[str, Any]:
    """Versions and settings that the numbers of a run depend on."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda if torch.cuda.is_available() else None,
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        **machine_facts(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def set_up(threads: int, *, deterministic: bool) -> None:
    """Threads and determinism of this process."""
    if threads:
        torch.set_num_threads(threads)
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.benchmark = False
