"""How hard each training example is: what samplers by difficulty go by.

Legend of axes: N training examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError
from torchstone.parts.samplers import ByDifficulty, Sampler


@dataclass
class Difficulty:
    """One number per training example, in the order of the feed's rows; the only part of a feed that changes.

    values: float64 [N], larger is harder; all 0 before anything is measured. epochs: those for which the sampler's
    plan was made; a run that is resumed with more goes on from there as in the last of them.
    """

    values: np.ndarray
    epochs: int

    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint keeps."""
        return {"values": torch.from_numpy(self.values.copy()), "epochs": torch.tensor(self.epochs)}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Takes up what a checkpoint kept; raises StoneError where it was kept for other examples or not at all."""
        values = tensors.get("values")
        if values is None or len(values) != len(self.values):
            kept = "nothing" if values is None else f"{len(values):,} numbers"
            raise StoneError(
                f"the checkpoint holds {kept} about the difficulty of {len(self.values):,} training examples",
                where="sampler", fix="resume with the recipe and the data that the run was started with",
            )  # fmt: skip
        self.values, self.epochs = values.numpy().copy(), int(tensors["epochs"])


def difficulty_for(
    sampler: Sampler | ByDifficulty, dataset: Dataset, rows: np.ndarray, epochs: int
) -> Difficulty | None:
    """What a sampler goes by in a run of `epochs` epochs on these rows; None for one that does not ask.

    Raises StoneError where the data should say it and does not, or not of each row.
    """
    if not isinstance(sampler, ByDifficulty):
        return None
    if not sampler.is_given:
        return Difficulty(np.zeros(len(rows)), epochs)
    if dataset.difficulty is None:
        raise StoneError("the sampler goes by a difficulty that the data does not say", where="data.difficulty",
                         fix="name a column of numbers, or set sampler.by to loss")  # fmt: skip
    values = dataset.difficulty[rows]
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        raise StoneError(
            f"nothing says how hard {len(missing):,} of {len(rows):,} training examples are, the first at "
            f"{dataset.where[rows[missing[0]]]}", where="data.difficulty", fix="fill the column",
        )  # fmt: skip
    return Difficulty(values, epochs)
