"""What torchrun tells each of its processes; one process alone is rank 0 of 1."""

from __future__ import annotations

import os


def world() -> int:
    """Processes of the whole job."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def local_world() -> int:
    """Processes of the job on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def is_first_rank() -> bool:
    """Whether this process is the one that writes and prints for all."""
    return os.environ.get("RANK", "0") == "0"


def marked(text: str) -> str:
    """A line for a person, with the rank in front on all but the first."""
    return text if is_first_rank() else f"[rank {os.environ['RANK']}] {text}"


def is_restart() -> bool:
    """Whether torchrun has started this process again after a rank died."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
