"""Pictures as the model's input: what is learnt on the training part, and batches of it.

Legend of axes: B pictures of a batch, C channels, S size of the input in pixels.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch

from torchstone.core import catalog
from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError
from torchstone.core.plan import Plan
from torchstone.engines.pytorch.batch import Batch, Shape
from torchstone.engines.pytorch.distortions import Distort
from torchstone.engines.pytorch.erasures import Erase
from torchstone.engines.pytorch.sources import stored
from torchstone.engines.pytorch.sources.buffers import Buffers
from torchstone.engines.pytorch.sources.decode import DECODER, is_grey
from torchstone.engines.pytorch.sources.draws import uniform
from torchstone.engines.pytorch.sources.geometry import Augment, Draw, Geometry, centre, whole
from torchstone.engines.pytorch.sources.resize import cut, installed, resizing
from torchstone.engines.pytorch.transforms.none import none

_AUGMENTS = "torchstone.engines.pytorch.transforms"
_DISTORTIONS, _ERASURES = "torchstone.engines.pytorch.distortions", "torchstone.engines.pytorch.erasures"
# Each use of a picture's random numbers has its own.
_CUT, _DISTORTED, _ERASED = 0, 1, 2
# Pictures from which mean and deviation are measured: of 512 pictures the mean is known to about 0.01 of the range.
_SAMPLE = 512
# Photographs that were learnt from random crops are judged on the largest square in the middle. On clothing10 (two
# seeds, 372 pictures, standard error 0.023) it scored 0.726, 0.723; the middle 7/8 of He et al. 2016 0.699, 0.723;
# the whole picture as a square 0.712, 0.704: no clear difference, so the choice that loses least of the object.
_MIDDLE = 1.0


def fit(dataset: Dataset, plan: Plan) -> dict[str, Any]:
    """What the input needs to know, learnt on the training part alone; JSON values.

    size: S. channels: 1 if every training picture is grey, else 3. mean, std: C numbers of values from 0 to 1,
    measured on up to 512 training pictures spread evenly. resizer: `cv2` or `pillow`. evaluation: share of the
    shorter side that is cut from the middle, or null for the whole picture resized to a square.
    Raises StoneError naming the file that cannot be read.
    """
    column = _column(dataset)
    paths = dataset.inputs[column][dataset.rows("train")]
    size, resizer = int(plan["image.size"]), installed()
    channels = 1 if all(is_grey(path) for path in paths) else 3
    rule = stored.Rule(size, channels, resizer)
    sample = paths[np.unique(np.linspace(0, len(paths) - 1, min(_SAMPLE, len(paths))).astype(np.int64))]
    mean, std, mean_bytes = _moments(sample, rule)
    crops = plan.get("image.augment.name") == "crop_flip"
    return {
        "column": column, "size": size, "channels": channels, "mean": mean, "std": std, "resizer": resizer,
        "evaluation": _MIDDLE if crops else None, "mean_bytes": mean_bytes,
    }


def shape(encoding: dict[str, Any], num_outputs: int) -> Shape:
    """What the model is built for."""
    return Shape(num_outputs=num_outputs, channels=int(encoding["channels"]), size=int(encoding["size"]))


def open_source(
    dataset: Dataset, encoding: dict[str, Any], plan: Plan, *, cache_folder: Path | None = None
) -> ImageSource:
    """The batches of a dataset.

    cache_folder: where decoded pictures are kept from the first pass on; None: every batch decodes.
    Plan: image.augment, image.distort and image.erase (.name, .options.*), image.cache_gib (0 turns the cache off),
    train.seed.
    """
    rule = stored.Rule(int(encoding["size"]), int(encoding["channels"]), str(encoding["resizer"]))
    paths = dataset.inputs[str(encoding["column"])]
    limit = int(float(plan.get("image.cache_gib", 0)) * 2**30) if cache_folder else 0
    decoded = stored.Decoded(paths, rule)
    pictures: stored.Pictures = decoded
    notes: list[str] = []
    needed = int(encoding["mean_bytes"]) * len(paths)
    if limit and needed > limit:
        notes.append(
            f"image cache: about {needed / 2**30:.1f} GiB are needed, image.cache_gib allows {limit / 2**30:.1f}: "
            "cached -> decoded again in each epoch"
        )
    elif limit and cache_folder:
        threads = int(plan.get("train.threads", 0) or 0)
        place = stored.Place(cache_folder, limit, _versions(), threads)
        pictures = stored.Cached(dataset, decoded, place, notes)
    return ImageSource(dataset, pictures, encoding, plan, notes)


class ImageSource:
    """A `Source` of pictures: float32 [B, C, S, S], mean 0 and deviation 1 over the training part.

    notes: what a person should be told once (no cache, and why); may grow with the first batches.
    The memory of a batch is used again once no tensor of it is left.
    """

    def __init__(
        self, dataset: Dataset, pictures: stored.Pictures, encoding: dict[str, Any], plan: Plan, notes: list[str]
    ) -> None:
        self.notes = notes
        self._pictures, self._plan, self._seed = pictures, plan, int(plan.get("train.seed", 0))
        self._size, self._channels = int(encoding["size"]), int(encoding["channels"])
        self._middle = encoding["evaluation"]
        self._resizer = str(encoding["resizer"])
        self._target = _targets(dataset)
        mean, std = (torch.tensor(encoding[key], dtype=torch.float64).repeat(self._size) for key in ("mean", "std"))
        self._scale, self._shift = (1 / (255 * std)).float(), (-mean / std).float()
        self._mean = np.rint(255 * np.array(encoding["mean"])).astype(np.uint8)
        self._make()

    def _make(self) -> None:
        self._augment: Augment = _part(self._plan, "image.augment", _AUGMENTS) or none()
        self._distort: Distort | None = _part(self._plan, "image.distort", _DISTORTIONS)
        self._erase: Erase | None = _part(self._plan, "image.erase", _ERASURES)
        self._resizing = resizing(self._resizer)
        self._bytes, self._floats = Buffers(np.uint8), Buffers(np.float32)

    def __getstate__(self) -> dict[str, Any]:
        """For worker processes: everything but the buffers and functions, which each process makes for itself."""
        own = ("_augment", "_distort", "_erase", "_resizing", "_bytes", "_floats")
        return {key: value for key, value in vars(self).items() if key not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make()

    @property
    def is_heavy(self) -> bool:
        """Whether every batch decodes its files or changes colours and shapes, which takes about as long."""
        return self._pictures.is_heavy or self._distort is not None

    def __len__(self) -> int:
        return len(self._target)

    def batch(self, rows: np.ndarray, epoch: int | None) -> Batch:
        """The pictures of `rows`, augmented by (seed, epoch, row); epoch None: without augmentation."""
        pictures = self._pictures.take(rows)
        pixels = self._bytes.take(len(rows), self._size, self._size, self._channels)
        heights, widths = (np.array([p.shape[axis] for p in pictures], dtype=np.int64) for axis in (0, 1))
        cut(pictures, self._geometry(rows, epoch, heights, widths), pixels, self._resizing)
        if epoch is not None:
            self._change(rows, epoch, pixels)
        return Batch((self._normalise(pixels),), self._target[torch.from_numpy(rows)], rows)

    def _geometry(self, rows: np.ndarray, epoch: int | None, heights: np.ndarray, widths: np.ndarray) -> Geometry:
        if epoch is not None:
            return self._augment(self._draw(rows, epoch, _CUT), heights, widths, self._size)
        if self._middle is not None:
            return centre(heights, widths, float(self._middle))
        return whole(heights, widths)

    def _change(self, rows: np.ndarray, epoch: int, pixels: np.ndarray) -> None:
        """Distorts and erases the cut pictures in place."""
        if self._distort is not None:
            self._distort(self._draw(rows, epoch, _DISTORTED), pixels)
        if self._erase is not None:
            self._erase(self._draw(rows, epoch, _ERASED), pixels, self._mean)

    def _draw(self, rows: np.ndarray, epoch: int, stream: int) -> Draw:
        return lambda count: uniform(self._seed, epoch, rows, count, stream=stream)

    def _normalise(self, pixels: np.ndarray) -> torch.Tensor:
        """uint8 [B, S, S, C] to float32 [B, C, S, S] in channels-last memory: one pass to cast, one to scale."""
        lines = (pixels.shape[0] * pixels.shape[1], -1)
        values = torch.from_numpy(self._floats.take(*pixels.shape)).view(lines)
        values.copy_(torch.from_numpy(pixels).view(lines))
        torch.addcmul(self._shift, values, self._scale, out=values)
        return values.view(pixels.shape).permute(0, 3, 1, 2)


def _column(dataset: Dataset) -> str:
    columns = dataset.columns("image")
    if len(columns) != 1:
        raise StoneError(f"{len(columns)} image columns; one is needed", where=dataset.source,
                         fix="name it with --set data.image=COLUMN")
    return columns[0]


def _moments(paths: np.ndarray, rule: stored.Rule) -> tuple[list[float], list[float], int]:
    """Mean and deviation per channel over all pixels, and the mean bytes of a stored picture."""
    count, total, squares, size = 0, np.zeros(rule.channels), np.zeros(rule.channels), 0
    for path in paths:
        picture = stored.read(path, rule)
        values = picture.reshape(-1, rule.channels).astype(np.float64) / 255
        count, size = count + len(values), size + picture.nbytes
        total, squares = total + values.sum(0), squares + (values**2).sum(0)
    mean = total / count
    # a constant channel has no deviation; one grey step keeps the division finite
    std = np.sqrt(np.maximum(squares / count - mean**2, (1 / 255) ** 2))
    return mean.tolist(), std.tolist(), size // len(paths)


def _part(plan: Plan, field: str, folder: str) -> Any:
    """The part that a plan names for a field, with its options; None where the plan does without."""
    name = plan.get(f"{field}.name")
    return catalog.find(folder, str(name))(**plan.section(f"{field}.options")) if name else None


def _targets(dataset: Dataset) -> torch.Tensor:
    target = torch.from_numpy(np.ascontiguousarray(dataset.target))
    return target if target.dtype == torch.int64 else target.float()


def _versions() -> str:
    """The packages whose version may change a stored pixel."""
    found = [f"decoder={DECODER}"]
    for package in ("simplejpeg", "Pillow", "opencv-python-headless", "opencv-python"):
        try:
            found.append(f"{package}={metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return " ".join(found)
