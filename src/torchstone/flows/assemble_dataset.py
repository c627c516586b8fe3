"""Examples to a dataset: classes, ids, groups, splits and the digest."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError
from torchstone.core.plan import Choice
from torchstone.core.recipe import Shares
from torchstone.core.records import ReadReport
from torchstone.core.task import Task
from torchstone.flows.cut_split import cut_split
from torchstone.flows.examples import Examples
from torchstone.parts.columns.leak import leak
from torchstone.parts.columns.same_input import same_input
from torchstone.parts.columns.spelling import spellings

if TYPE_CHECKING:
    import numpy as np

_ID_DIGITS = 16


def assemble_dataset(
    examples: Examples, task: Task, shares: Shares | None, seed: int, report: ReadReport
) -> tuple[Dataset, list[Choice]]:
    """The dataset of these examples, and the choices about its split.

    Raises StoneError where there is nothing to learn: one class or one number only, or as many classes as examples.
    """
    import numpy as np

    target, classes = _target(examples)
    groups = _groups(examples.keys)
    inputs = {name: column.values for name, column in examples.columns.items()}
    kinds = {name: column.kind for name, column in examples.columns.items()}
    together = same_input(inputs, kinds, groups)
    split, choices = cut_split(target, task.target, together, examples.split, shares, seed)
    report.examples = len(examples)
    if task.target != "number":
        report.spellings = spellings(name for value in examples.target.values for name in _names(value))
    if task.target != "multi":
        for name, column in examples.columns.items():
            if (how := leak(column, target, len(classes))) is not None:
                report.leaks[name] = how
    dataset = Dataset(
        task=task.name,
        source=report.source,
        ids=np.array(_ids(examples.keys), dtype=object),
        where=np.array(examples.where, dtype=object),
        inputs=inputs,
        kinds=kinds,
        target=target,
        target_name=examples.target_name,
        classes=tuple(classes),
        split=split,
        groups=groups,
        digest=_digest(examples, split),
        difficulty=examples.difficulty,
    )
    return dataset, choices


def _target(examples: Examples) -> tuple[np.ndarray, list[str]]:
    import numpy as np

    values = examples.target.values
    if examples.target.kind == "number":
        numbers = np.array(values, dtype=np.float64)
        if (numbers == numbers[0]).all():
            raise _nothing(examples, f"always {numbers[0]:g}")
        return numbers, []
    if examples.target.kind == "single":
        classes = sorted({str(value) for value in values})
        if len(classes) < 2:
            raise _nothing(examples, f"'{classes[0]}' in all {len(values):,} examples")
        if len(classes) == len(values):
            raise _all_different(examples, classes)
        index = {name: place for place, name in enumerate(classes)}
        return np.array([index[str(value)] for value in values], dtype=np.int64), classes
    classes = list(examples.classes or sorted({name for labels in values for name in _names(labels)}))
    index = {name: place for place, name in enumerate(classes)}
    flags = np.zeros((len(values), len(classes)), dtype=np.uint8)
    for row, labels in enumerate(values):
        flags[row, [index[name] for name in _names(labels)]] = 1
    if not classes or (flags == flags[0]).all():
        raise _nothing(examples, "the same labels in every example")
    return flags, classes


def _names(labels: object) -> list[str]:
    return labels if isinstance(labels, list) else [str(labels)]


def _nothing(examples: Examples, said: str) -> StoneError:
    others = ", ".join(examples.others[:20])
    way_out = f", or name another label column, --label NAME, of: {others}" if others else " in a folder of its own"
    return StoneError(
        f"there is nothing to learn: the label '{examples.target_name}' is {said}",
        where=examples.where[0].rpartition(":")[0] or None,
        fix="add examples of a second class" + way_out,
    )


def _all_different(examples: Examples, classes: Sequence[str]) -> StoneError:
    others = ", ".join(examples.others[:20])
    return StoneError(
        f"there is nothing to learn: each of the {len(classes):,} examples has a label of its own in "
        f"'{examples.target_name}', such as '{classes[0]}': no class has two",
        where=examples.where[0].rpartition(":")[0] or None,
        fix="give each class several examples" + (f", or name another label column, --label NAME, of: {others}"
                                                  if others else ""),
    )  # fmt: skip


def _groups(keys: Sequence[str]) -> np.ndarray:
    import numpy as np

    number: dict[str, int] = {}
    return np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)


def _ids(keys: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    ids = []
    for key in keys:
        short = key[:_ID_DIGITS]
        seen[short] += 1
        ids.append(short if seen[short] == 1 else f"{short}#{seen[short]}")
    return ids


def _digest(examples: Examples, split: np.ndarray) -> str:
    """SHA-256 over the digest of each file that was read, then input, label and split of each example.

    Names of files play no part: the same data in another place has the same digest.
    """
    digest = hashlib.sha256()
    for key in sorted(examples.digests.values()):
        digest.update(f"{key}\n".encode())
    for key, value, part in zip(examples.keys, examples.target.values, split.tolist(), strict=True):
        digest.update(f"{key}\0{value!r}\0{part}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
