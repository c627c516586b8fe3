"""Class folders of pictures to examples."""

from __future__ import annotations

import os

from torchstone.core.errors import StoneError
from torchstone.core.plan import Choice
from torchstone.core.recipe import Data
from torchstone.core.records import ReadReport
from torchstone.core.task import Task
from torchstone.flows.examples import Examples
from torchstone.flows.find_files import Layout
from torchstone.flows.read_pictures import Progress, read_pictures
from torchstone.parts.columns.column import Column
from torchstone.parts.columns.target import Target

_TABLE_ONLY = ("label", "features", "text", "image", "split_column", "label_separator", "difficulty")


def read_folders(
    layout: Layout, data: Data, wanted: Task | None, report: ReadReport, progress: Progress | None
) -> Examples:
    """The pictures of a folder per class; those that do not decode are left out and named in `report`.

    Raises StoneError for a task that pictures in class folders cannot serve and for fields that only tables have.
    """
    import numpy as np

    _refuse(layout, data, wanted)
    read = read_pictures([picture.path for picture in layout.pictures], progress)
    report.pictures = len(layout.pictures)
    kept = []
    for picture in layout.pictures:
        if (fault := read[picture.path].fault) is None:
            kept.append(picture)
        else:
            report.unreadable.append((picture.name, fault))
    if not kept:
        raise StoneError(
            f"none of the {len(layout.pictures):,} pictures decodes; first: {report.unreadable[0][1]}",
            where=f"{layout.folder}/{report.unreadable[0][0]}",
            fix="check how the pictures were copied",
        )
    report.empty_classes += sorted({p.label for p in layout.pictures} - {p.label for p in kept})
    paths = np.array([os.path.abspath(picture.path) for picture in kept], dtype=object)
    return Examples(
        modality="image",
        columns={"image": Column("image", paths)},
        keys=[read[picture.path].digest for picture in kept],
        where=[picture.name for picture in kept],
        target=Target("single", [picture.label for picture in kept], "one class per folder"),
        target_name="folder",
        split=[picture.split for picture in kept],
        digests={picture.name: read[picture.path].digest for picture in layout.pictures},
        choices=(Choice("data.layout", "folder per class", "derived", layout.reason, "the layout of the data"),),
    )


def _refuse(layout: Layout, data: Data, wanted: Task | None) -> None:
    if wanted is not None and wanted.name != "image-classification":
        raise StoneError(
            f"the data is a folder of pictures per class; the task {wanted.name} cannot be learnt from it",
            where=str(layout.folder),
            fix="use task image-classification, or give a table",
        )
    given = [name for name in _TABLE_ONLY if getattr(data, name) is not None]
    if given:
        raise StoneError(
            f"data.{given[0]} has no effect: the data is a folder of pictures per class, not a table",
            where=str(layout.folder),
            fix=f"take data.{given[0]} out, or name the table: torchstone train TABLE",
        )
