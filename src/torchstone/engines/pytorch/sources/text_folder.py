"""Texts as tokens of a given tokenizer: that of a local transformers folder, which the model was trained with.

Legend of axes: N examples, B examples of a batch, T tokens.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError, missing_extra
from torchstone.core.plan import Plan
from torchstone.engines.pytorch.batch import Batch, Shape
from torchstone.engines.pytorch.sources.text import LONGEST, ROUND, enough, notes_on, texts_of
from torchstone.engines.pytorch.targets import fit_target, target_tensor


def fit(dataset: Dataset, plan: Plan) -> dict[str, Any]:
    """The folder's tokenizer and configuration with their SHA-256, and how many tokens of a text are kept.

    The encoding holds both files whole, so that a run is judged with the tokenizer and the network that it was
    trained with, even where the folder has gone or changed. Texts keep the tokenizer's own special tokens;
    `text.max_length` counts them. Without it: the 99th percentile of the training lengths, at most 512 and at most
    the positions that the network has. Raises StoneError for a folder that lacks a file, a length that the network
    cannot read, and for fields that would have no effect.
    """
    opened = open_folder(plan)
    folder, config, tokenizer, padding = opened.place, opened.config, opened.tokenizer, opened.padding
    lengths = np.array([len(tokens) for tokens in _tokens(tokenizer, texts_of(dataset.take(dataset.rows("train"))))])
    max_length = min(plan.get("text.max_length") or enough(lengths), opened.most)
    return {
        "folder": str(folder), "tokenizer": tokenizer.to_str(), "tokenizer_sha256": _digest(opened.texts[1]),
        "config": config, "config_sha256": _digest(opened.texts[0]), "vocabulary": tokenizer.get_vocab_size(),
        "padding": padding, "max_length": max_length, "train_texts_cut": int((lengths > max_length).sum()),
        **fit_target(dataset),
    }  # fmt: skip


@dataclass(frozen=True)
class Folder:
    """What a folder holds: config.json and tokenizer.json as texts and read, and how many tokens the network reads."""

    place: Path
    texts: tuple[str, str]
    config: dict[str, Any]
    tokenizer: Any
    padding: int
    most: int


def open_folder(plan: Plan) -> Folder:
    """The folder that a plan names; errors are those of `fit`, and no text of the data is read."""
    folder = Path(str(plan["model.options.folder"])).expanduser()
    _refuse_settings(plan)
    texts = _read(folder, "config.json"), _read(folder, "tokenizer.json")
    config = read_config(str(folder))
    padding = config.get("pad_token_id")
    padding = padding if isinstance(padding, int) else 0
    most = _positions(config, folder, padding) // ROUND * ROUND
    wanted = plan.get("text.max_length")
    if wanted is not None and wanted > most and plan.choices["text.max_length"].origin == "user":
        raise StoneError(f"text.max_length is {wanted}; this network reads at most {most} tokens",
                         where="text.max_length", fix=f"give {most} or less")
    return Folder(folder, texts, config, _tokenizer(texts[1], folder), padding, most)


def read_config(folder: str) -> dict[str, Any]:
    """The folder's config.json; raises StoneError where it cannot be read or names no model_type."""
    place = Path(folder).expanduser()
    return _parsed(_read(place, "config.json"), place / "config.json")


def open_source(dataset: Dataset, encoding: dict[str, Any], plan: Plan) -> FolderTextSource:
    """All texts of `dataset`, tokenised once with the encoding's tokenizer; the folder is not read."""
    tokenizer = _tokenizer(encoding["tokenizer"], Path(encoding["folder"]))
    tokenizer.enable_truncation(encoding["max_length"])
    texts = _tokens(tokenizer, texts_of(dataset))
    return FolderTextSource(texts, int(encoding["padding"]), target_tensor(dataset, encoding), notes_on(encoding))


def shape(encoding: dict[str, Any], num_outputs: int) -> Shape:
    """What a model of the folder's configuration is built for."""
    return Shape(num_outputs, vocabulary=encoding["vocabulary"], max_length=encoding["max_length"],
                 config=json.dumps(encoding["config"]))


class FolderTextSource:
    """N tokenised texts; a batch is tokens_BT int64 and mask_BT int64, 1 where there is a token."""

    is_heavy = False

    def __init__(
        self, texts: Sequence[np.ndarray], padding: int, target: torch.Tensor, notes: Sequence[str] = ()
    ) -> None:
        """texts: int32 [T] each; padding: the token that fills; target: one row per text."""
        self._texts, self._padding, self._target = texts, padding, target
        self.notes = notes

    def __len__(self) -> int:
        return len(self._texts)

    def batch(self, rows: np.ndarray, epoch: int | None) -> Batch:
        """T is the longest of these rows rounded up to a multiple of 4, at least 4.

        An empty text (of a tokenizer without special tokens) shows its first padding: attention to nothing is NaN.
        """
        texts = [self._texts[row] for row in rows.tolist()]
        width = max(-(-max(map(len, texts), default=0) // ROUND), 1) * ROUND
        tokens_BT = np.full((len(texts), width), self._padding, dtype=np.int64)
        mask_BT = np.zeros((len(texts), width), dtype=np.int64)
        for place, text in enumerate(texts):
            tokens_BT[place, : len(text)] = text
            mask_BT[place, : max(len(text), 1)] = 1
        target = self._target.index_select(0, torch.from_numpy(rows))
        return Batch((torch.from_numpy(tokens_BT), torch.from_numpy(mask_BT)), target, rows)


def _refuse_settings(plan: Plan) -> None:
    for field in ("text.vocabulary", "text.lowercase", "text.augment.name"):
        choice = plan.choices.get(field)
        if choice is not None and choice.origin == "user" and choice.value is not None:
            raise StoneError(
                "this has no effect: the tokens are those of the folder's own tokenizer",
                where=field.removesuffix(".name"), fix="remove the field",
            )  # fmt: skip


def _read(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fix = "give a folder with config.json, tokenizer.json and model.safetensors"
        if name == "tokenizer.json" and (folder / "config.json").is_file():
            fix = f"make it: AutoTokenizer.from_pretrained('{folder}').save_pretrained('{folder}')"
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise StoneError(f"{name} cannot be read: {reason}", where=f"model.folder: {folder}", fix=fix) from error


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        config = json.loads(text)
    except ValueError as error:
        raise StoneError(f"this is no JSON: {error}", where=str(path)) from error
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise StoneError("this names no model_type", where=str(path), fix="give a folder of transformers' own layout")
    return config


def _tokenizer(text: str, folder: Path) -> Any:
    """The tokenizer without the padding and truncation that it was saved with: our batches have their own."""
    try:
        import tokenizers
    except ImportError as error:
        raise missing_extra("tokenizers", "transformers", "reading text") from error
    try:
        tokenizer = tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises plain Exception
        raise StoneError(f"this tokenizer cannot be read: {error}", where=str(folder / "tokenizer.json")) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _positions(config: Mapping[str, Any], folder: Path, padding: int) -> int:
    """How many tokens the network can read; LONGEST where it does not say."""
    said = (config.get("max_position_embeddings"), config.get("n_positions"))
    most = next((value for value in said if isinstance(value, int) and value >= ROUND), LONGEST)
    if "roberta" in config["model_type"] or config["model_type"] in ("camembert", "mpnet"):
        most -= padding + 1  # their first positions are padding's
    try:
        length = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))["model_max_length"]
    except (OSError, ValueError, KeyError, TypeError):  # the file is not needed
        return most
    return min(most, length) if isinstance(length, int) and length >= ROUND else most


def _tokens(tokenizer: Any, texts: Sequence[str]) -> list[np.ndarray]:
    return [np.array(encoded.ids, dtype=np.int32) for encoded in tokenizer.encode_batch_fast(list(texts))]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
