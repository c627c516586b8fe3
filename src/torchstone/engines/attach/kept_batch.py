"""The batch whose loss or gradient was not finite, written where the user asked for it; elsewhere nothing is kept.

The last batch of a DataLoader and the last inputs of a model are held until the next ones come: one batch of memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torchstone.core import ranks, store
from torchstone.core.errors import StoneError
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, Row, has_numbers

if TYPE_CHECKING:
    from torchstone.engines.attach.models import Root
    from torchstone.engines.attach.wiring import Wiring

# Bytes of a file at most: what does not fit is left out, and the file says so.
LARGEST = 256 * 2**20


class KeptBatch:
    """Holds the newest batch and inputs, and writes them when a row `non_finite` is noted; its key `kept` names the
    file, or `not_kept` says why there is none.
    """

    def __init__(self, recorder: Recorder, folder: Path) -> None:
        self.recorder, self._folder = recorder, folder
        self._batch: Any = None
        self._inputs: Any = None

    def attach(self, patches: Patches) -> None:
        """Wraps the next batch of every loader; also what comes while the recorder sleeps is held."""

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def __next__(iterator: Any) -> Any:
                batch = self._batch = original(iterator)
                return batch

            return __next__

        patches.replace(_BaseDataLoaderIter, "__next__", make)
        patches.at_end(self.forget)

    def forget(self) -> None:
        """Lets go of what is held."""
        self._batch = self._inputs = None

    def see(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        """After a forward pass: its inputs, if it is one of training."""
        if root.has_grad:
            self._inputs = (inputs, dict(root.named))

    def keep(self, row: Row) -> None:
        """Writes what is held to a file of its own, for its owner's eyes alone."""
        tensors, left_out = fitting(dict(named(self._batch, "batch")) | dict(self._named_inputs()))
        if not tensors:
            row["not_kept"] = "no batch of a DataLoader and no inputs of a model were seen"
            return
        rank = f"rank-{os.environ.get('RANK', '0')}-" if ranks.world() > 1 else ""
        path = self._folder / f"{rank}step-{row['step']:06}-{row['problem']}.safetensors"
        said = {"step": str(row["step"]), "problem": str(row["problem"]), "value": str(row.get("value")),
                "place": str(row.get("place")), "left_out": ", ".join(left_out)}  # fmt: skip
        from safetensors.torch import save

        try:
            store.write_bytes(path, save(tensors, said))
            os.chmod(path, 0o600)
        except (StoneError, OSError) as error:  # a full disk must not end a script that would have gone on
            row["not_kept"] = str(error).splitlines()[0]
            return
        row["kept"] = str(path)

    def _named_inputs(self) -> Iterator[tuple[str, Tensor]]:
        if self._inputs is not None:
            inputs, by_name = self._inputs
            yield from named(list(inputs), "input")
            yield from named(by_name, "input")


def keep(wiring: Wiring, folder: Path) -> None:
    """Adds it to the wires of a doctor, before they are attached."""
    one = KeptBatch(wiring.recorder, folder)
    wiring.add(one)
    wiring.models.on_forward.append(one.see)
    wiring.postmortem.on_note.append(one.keep)


def named(thing: Any, name: str) -> Iterator[tuple[str, Tensor]]:
    """The tensors in nested lists, tuples and mappings, each with its way there: `batch.1`, `batch.input_ids`."""
    if isinstance(thing, Tensor):
        if has_numbers(thing) and thing.layout == torch.strided:
            yield name, thing.detach()
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield from named(value, f"{name}.{key}")
    elif isinstance(thing, (list, tuple)):
        for place, value in enumerate(thing):
            yield from named(value, f"{name}.{place}")


def fitting(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """Copies in host memory of those that fit into a file together, in order, and the names of the others."""
    kept: dict[str, Tensor] = {}
    left_out, room = [], LARGEST
    for name, value in tensors.items():
        room -= value.numel() * value.element_size()
        if room < 0:
            left_out.append(name)
            room += value.numel() * value.element_size()
        else:
            kept[name] = value.to("cpu", copy=True).contiguous()
    return kept, left_out
