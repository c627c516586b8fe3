"""Checkpoints that cannot lie: complete and verified, or not there.

A checkpoint is a folder `step-00000123-e002-w0005` of safetensors and JSON files, written aside, synced, and renamed
when the last of them, `manifest.json` with the SHA-256 of every other, is on the disk. No pickle is written or read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load, save_file
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.core.store import fsync_folder, plain_os_errors

MANIFEST = "manifest.json"
STATE = "state.json"


@dataclass(frozen=True)
class Content:
    """What a checkpoint holds: tensors by file name (without suffix) and name, and plain numbers."""

    tensors: dict[str, dict[str, Tensor]]
    state: dict[str, Any]


@dataclass(frozen=True)
class Refused:
    """A checkpoint that was not taken, and why."""

    path: Path
    reason: str


def write(content: Content, folder: Path) -> None:
    """Writes a checkpoint to `folder`, whole or not at all.

    Raises StoneError when the disk is full or not writable; what was there before is untouched.
    """
    aside = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.tmp")
    with plain_os_errors(folder):
        try:
            aside.mkdir(parents=True)
            for name, tensors in content.tensors.items():
                _save_tensors(tensors, aside / f"{name}.safetensors")
            (aside / STATE).write_text(json.dumps(content.state), encoding="utf-8")
            files = {path.name: _sha256_synced(path) for path in sorted(aside.iterdir())}
            manifest = aside / MANIFEST
            manifest.write_text(json.dumps({"format": 1, "files": files}, indent=1), encoding="utf-8")
            _sha256_synced(manifest)
            fsync_folder(aside)
            if folder.exists():
                shutil.rmtree(folder)
            os.replace(aside, folder)
            fsync_folder(folder.parent)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise


def _save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    try:
        save_file(tensors, path)
    except OSError:
        raise
    except Exception as error:  # safetensors raises its own type for a full disk: SafetensorError("... os error 28")
        number = next((n for n in (28, 122, 13, 30) if f"os error {n})" in str(error)), None)
        if number is None:
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


def _sha256_synced(path: Path) -> str:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    return digest


def problem(folder: Path) -> str | None:
    """Why a checkpoint cannot be trusted, or None: every file of the manifest is there with its SHA-256."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = dict(manifest["files"])
    except FileNotFoundError:
        return f"it has no {MANIFEST}: it was not written to its end"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{MANIFEST} cannot be read: {error}"
    for name, expected in sorted(files.items()):
        if Path(name).name != name:
            return f"{MANIFEST} names a file outside the checkpoint: {name}"
        try:
            with open(folder / name, "rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            return f"{name}: {error.strerror}"
        if found != expected:
            return f"{name} has changed since it was written (SHA-256 {found[:12]}…, expected {expected[:12]}…)"
    return None if STATE in files else f"{STATE} is missing"


def read(folder: Path, *, called: str = "checkpoint", fix: str | None = None) -> Content:
    """A verified checkpoint's content; raises StoneError that names the file where one cannot be trusted.

    called, fix: what the error says that it is, and what to do, where the same files hold something else.
    """
    reason = problem(folder)
    if reason is not None:
        raise StoneError(f"this {called} is not used: {reason}", where=str(folder), fix=fix)
    names = [name for name in json.loads((folder / MANIFEST).read_text())["files"] if name.endswith(".safetensors")]
    tensors = {name.removesuffix(".safetensors"): load((folder / name).read_bytes()) for name in names}
    return Content(tensors, json.loads((folder / STATE).read_text(encoding="utf-8")))


def listed(folder: Path) -> list[Path]:
    """The checkpoints in a folder, newest first; half-written ones (hidden) are not among them."""
    found = [path for path in folder.glob("step-*") if path.is_dir() and not path.is_symlink()]
    return sorted(found, key=lambda path: path.name, reverse=True)


def newest(folder: Path) -> tuple[Path | None, list[Refused]]:
    """The newest complete and verified checkpoint, and the newer ones that were refused, with reasons."""
    refused: list[Refused] = []
    for path in listed(folder):
        reason = problem(path)
        if reason is None:
            return path, refused
        refused.append(Refused(path, reason))
    return None, refused


def sweep(folder: Path, keep: int, protected: set[str]) -> None:
    """Removes all but the newest `keep` checkpoints and the `protected` names."""
    for path in listed(folder)[keep:]:
        if path.name not in protected:
            # the manifest goes first: a removal that is cut short leaves nothing that looks complete
            with contextlib.suppress(OSError):
                (path / MANIFEST).unlink()
            shutil.rmtree(path, ignore_errors=True)


def sweep_leftovers(folder: Path) -> None:
    """Removes what a killed process left half written."""
    for path in folder.glob(".step-*.tmp"):
        shutil.rmtree(path, ignore_errors=True)
