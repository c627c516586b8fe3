"""Tensors by name from local files and folders; nothing that could run code is read."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.weights.unreadable import unreadable

FIX = "give a .safetensors, .pth, .pt or .bin file, a folder with model.safetensors, or a run's (.torchstone/runs/NAME)"
INDEX = "model.safetensors.index.json"
# Where training programs keep the weights inside what they save, the best first.
_INSIDE = ("state_dict", "model_state_dict", "model")


@dataclass(frozen=True)
class Given:
    """Weights as they were found: tensors by name, the place, SHA-256 of the files, and what kind of place it is."""

    tensors: Mapping[str, Tensor]
    source: str
    sha256: str
    layout: str


def read_weights(path: str) -> Given:
    """The tensors of a file or folder.

    A file: .safetensors; .pth, .pt or .bin, read with weights_only, so that no code in it can run (plain state dicts,
    those inside a mapping, Lightning checkpoints); an index of sharded safetensors. A folder: sharded or whole
    model.safetensors (transformers, timm); a torchstone run or one of its checkpoints (checkpoints/best), which is
    verified first. Raises StoneError where nothing is there, the file is damaged, or it holds anything else.
    """
    place = Path(path).expanduser()
    try:
        if place.is_dir():
            return _from_folder(place)
        if not place.is_file():
            raise StoneError("there is no such file or folder", where=f"model.weights: {path}", fix=FIX)
        return _from_file(place)
    except StoneError:
        raise
    except Exception as error:  # each reader has its own errors for a damaged file
        raise unreadable(_file_of(place), error) from error


def lent_encoding(path: str) -> dict[str, Any] | None:
    """The input encoding (tokenizer, columns) of the torchstone run that the weights come from; None without one."""
    return _of_the_run(path, "encoding")


def lent_classes(path: str) -> list[str] | None:
    """The classes of the torchstone run that the weights come from, in the order of its outputs; None without one."""
    stored = _of_the_run(path, "data")
    return None if stored is None else [str(name) for name in stored.get("classes", [])]


def _of_the_run(path: str, what: str) -> dict[str, Any] | None:
    place = Path(path).expanduser()
    if not place.is_dir():
        return None
    place = place.resolve()
    for folder in (place, place.parent, place.parent.parent):
        if (folder / "plan.yaml").is_file() and (folder / f"{what}.json").is_file():
            try:
                stored: dict[str, Any] = json.loads((folder / f"{what}.json").read_text(encoding="utf-8"))
                return stored
            except ValueError as error:
                raise StoneError(f"the {what} of this run cannot be read: {error}",
                                 where=str(folder / f"{what}.json")) from error
    return None


def _file_of(place: Path) -> Path:
    inner = place / "model.safetensors"
    return inner if place.is_dir() and inner.is_file() else place


def _from_folder(folder: Path) -> Given:
    if (folder / "plan.yaml").is_file():
        merged = folder / "merged" / "model.safetensors"
        best = folder / "checkpoints" / "best"
        return _from_file(merged) if merged.is_file() else _from_folder(best if best.exists() else best.parent / "last")
    if (folder / "manifest.json").is_file():
        return _from_checkpoint(folder)
    if (folder / INDEX).is_file():
        return _sharded(folder / INDEX)
    if (folder / "model.safetensors").is_file():
        return _from_file(folder / "model.safetensors")
    names = ", ".join(sorted(entry.name for entry in folder.iterdir())[:8]) if folder.is_dir() else "nothing"
    raise StoneError(f"there is no model.safetensors in this folder; found: {names or 'nothing'}",
                     where=str(folder), fix=FIX)


def _from_checkpoint(folder: Path) -> Given:
    from torchstone.engines.pytorch import checkpoint

    folder = folder.resolve()
    content = checkpoint.read(folder)
    which = "averaged" if "averaged" in content.tensors else "model"
    if which not in content.tensors:
        raise StoneError("this checkpoint holds no model", where=str(folder), fix=FIX)
    layout = f"{'averaged weights' if which == 'averaged' else 'weights'} of a torchstone checkpoint"
    return Given(content.tensors[which], str(folder), _sha256(folder / f"{which}.safetensors"), layout)


def _from_file(path: Path) -> Given:
    suffix = path.suffix.lower()
    if path.name.endswith(".index.json"):
        return _sharded(path)
    if suffix == ".safetensors":
        from safetensors.torch import load_file

        return Given(_tensors(load_file(path), path), str(path), _sha256(path), "safetensors")
    if suffix in (".pth", ".pt", ".bin", ".ckpt"):
        with warnings.catch_warnings():  # of the pickle's protocol: whoever trains cannot change it
            warnings.simplefilter("ignore", UserWarning)
            state = torch.load(path, map_location="cpu", weights_only=True)
        is_lightning = isinstance(state, Mapping) and "pytorch-lightning_version" in state
        kind = "Lightning checkpoint" if is_lightning else "torch"
        return Given(_tensors(state, path), str(path), _sha256(path), kind)
    raise StoneError(f"found the suffix '{suffix}'; .safetensors, .pth, .pt, .bin or .ckpt was expected",
                     where=str(path), fix=FIX)


def _sharded(index: Path) -> Given:
    from safetensors import safe_open

    places = json.loads(index.read_text(encoding="utf-8")).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise StoneError("this index has no weight_map", where=str(index), fix=FIX)
    files: dict[str, list[str]] = {}
    for name, file in places.items():
        files.setdefault(str(file), []).append(str(name))
    tensors: dict[str, Tensor] = {}
    digest = hashlib.sha256()
    for file, names in sorted(files.items()):
        path = index.parent / file
        if Path(file).name != file or not path.is_file():
            raise StoneError(f"the index names '{file}', which is not beside it", where=str(index),
                             fix="bring all shards into one folder")
        digest.update(_sha256(path).encode())
        with safe_open(path, framework="pt") as opened:
            tensors |= {name: opened.get_tensor(name) for name in names}
    return Given(tensors, str(index), digest.hexdigest(), f"safetensors in {len(files)} shards")


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _tensors(state: object, path: Path) -> dict[str, Tensor]:
    while isinstance(state, Mapping):
        inner = next((state[key] for key in _INSIDE if isinstance(state.get(key), Mapping)), None)
        if inner is None:
            break
        state = inner
    if not isinstance(state, Mapping) or not state or not all(isinstance(value, Tensor) for value in state.values()):
        raise StoneError("this holds no state dict (names and tensors)", where=str(path),
                         fix="save model.state_dict() with safetensors.torch.save_file")
    return {str(key): value for key, value in state.items()}
