"""After a loss or gradient that is not finite: the same window once more, slowly, to see where it went wrong.

The weights are those from before the step (nothing was updated), the generators and buffers are put back, so that
dropout falls as it fell. Afterwards everything is again as it was found.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from torchstone.core.store import clean
from torchstone.engines.pytorch.batch import Batch
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.postmortem.forward import Forward
from torchstone.engines.pytorch.postmortem.generators import Generators, generators, set_generators
from torchstone.engines.pytorch.postmortem.graph import Stain, Watch, layer_of, layers_of, operation
from torchstone.engines.pytorch.postmortem.values import bad_places, is_bad, largest
from torchstone.engines.pytorch.sources.table import TableSource


@dataclass(frozen=True)
class Autopsy:
    """What was seen: `found` is short enough for a trace; layers and backward are lists of rows, in order.

    found: phase ("forward", "backward" or None where all was finite this time), layer, class, operation, operands,
    output, wide, origin, data, weights, gradients, micro_batch, loss; docs/post-mortem.md describes them.
    """

    found: dict[str, Any]
    layers: list[dict[str, Any]]
    backward: list[dict[str, Any]]


def examine(job: Job, batches: Sequence[Batch], num: int, before: Generators, scale: float) -> Autopsy:
    """Runs this rank's micro-batches again as they ran; every rank calls it, since some losses and norms gather.

    num: examples of the window over all ranks; before: the generators' states at its start; scale: the loss scaler's.
    Raises what the model raises.
    """
    found: Autopsy | None = None
    with undisturbed(job):
        set_generators(before, job.strategy.device)
        for index, batch in enumerate(batches):
            autopsy = _pass(job, batch, num, scale)
            if found is None or (found.found["phase"] is None and autopsy.found["phase"] is not None):
                found = Autopsy({**autopsy.found, "micro_batch": index}, autopsy.layers, autopsy.backward)
    return found or Autopsy({"phase": None}, [], [])


@contextlib.contextmanager
def undisturbed(job: Job) -> Iterator[None]:
    """Generators, buffers and modes afterwards are what they were; gradients are gone."""
    states = generators(job.strategy.device)
    kept = [(buffer, buffer.detach().clone()) for buffer in job.model.buffers()]
    job.optimizer.zero_grad(set_to_none=True)
    try:
        yield
    finally:
        job.optimizer.zero_grad(set_to_none=True)
        set_generators(states, job.strategy.device)
        with torch.no_grad():
            for buffer, value in kept:
                buffer.copy_(value)


def _pass(job: Job, batch: Batch, num: int, scale: float) -> Autopsy:
    device = job.strategy.device
    inputs, target = tuple(value.to(device) for value in batch.inputs), batch.target.to(device)
    forward = Forward(job.model)
    with forward, job.precision.autocast():
        value, weight = job.loss(job.model(*inputs), target)
    loss = value.detach().float() / max(float(weight), 1e-12)
    found: dict[str, Any] = {"phase": None, "layer": None, "loss": float(loss), "data": _data(job, batch)}
    found["weights"] = _weights(job.model)
    if is_bad(value):
        found |= {"phase": "forward", **_born(forward, value, job.model, inputs, target)}
    watch, owner = _backward(value / num * scale, forward)
    stain = None if watch is None else watch.stain()
    if found["phase"] is None and stain is not None:
        found |= {"phase": "backward", **_stained(stain, owner, job.model)}
    found["gradients"] = _gradients(job.model, scale)
    if found["phase"] is None and found["gradients"]["num_bad"]:
        found |= {"phase": "backward", "layer": found["gradients"]["bad"][-1].rpartition(".")[0]}
    rows = [] if watch is None else _by_layer(watch, owner)
    return Autopsy(clean(found), [clean(asdict(layer)) for layer in forward.layers.values()], rows)


def _born(forward: Forward, loss: Tensor, model: nn.Module, inputs: Sequence[Tensor], target: Tensor) -> dict[str, Any]:
    """The operation in which it was born, or the tensor that brought it."""
    at, given = forward.birth(loss)
    told: dict[str, Any] = {"origin": None if given is None else origin(given, model, inputs, target)}
    if at is None:
        return {**told, "layer": "loss"}
    told |= {"layer": at.layer, "operation": at.name, "operands": at.operands, "output": at.output, "wide": at.wide}
    return {**told, "class": class_of(model, at.layer)}


def _stained(stain: Stain, owner: Mapping[Any, str], model: nn.Module) -> dict[str, Any]:
    layer = layer_of(stain.node, owner)
    return {
        "layer": layer, "class": class_of(model, layer), "operation": operation(stain.node), "output": stain.gradient,
        "operands": [{"name": name, **told} for name, told in stain.operands.items()], "gradient": stain.largest,
    }  # fmt: skip


def _backward(loss: Tensor, forward: Forward) -> tuple[Watch | None, dict[Any, str]]:
    if loss.grad_fn is None:
        return None, {}
    watch = Watch(loss.grad_fn)
    loss.backward()  # type: ignore[no-untyped-call]
    watch.close()
    return watch, layers_of(forward.outputs)


def _by_layer(watch: Watch, owner: Mapping[Any, str]) -> list[dict[str, Any]]:
    """One row for each layer, in the order of the backward pass."""
    rows: dict[str, dict[str, Any]] = {}
    for node, size, num_bad in watch.passed:
        row = rows.setdefault(layer_of(node, owner), {"largest": 0.0, "bad": 0, "first": None})
        row["largest"], row["bad"] = max(row["largest"], size), row["bad"] + num_bad
        if num_bad and row["first"] is None:
            row["first"] = operation(node)
    return [{"name": name, **row} for name, row in rows.items()]


def origin(tensor: Tensor, model: nn.Module, inputs: Sequence[Tensor], target: Tensor | None) -> str:
    """Whose memory a tensor is: `input 0`, `target`, `weight fc.weight`, `buffer norm.running_var`, else `constant`."""
    place = tensor.untyped_storage().data_ptr()
    named = [(f"input {i}", value) for i, value in enumerate(inputs)]
    named += [] if target is None else [("target", target)]
    named += [(f"weight {name}", value) for name, value in model.named_parameters()]
    named += [(f"buffer {name}", value) for name, value in model.named_buffers()]
    return next((name for name, value in named if value.untyped_storage().data_ptr() == place), "constant")


def class_of(model: nn.Module, layer: str) -> str | None:
    """The class of a layer; None for the loss."""
    return None if layer == "loss" else type(model.get_submodule(layer)).__name__


def _data(job: Job, batch: Batch) -> list[dict[str, Any]]:
    """What is not finite or absurdly large in the batch itself: of which input, which examples, which columns."""
    found = []
    source = job.feed.source
    columns = source.columns if isinstance(source, TableSource) else ()
    for name, values in [*((f"input {i}", value) for i, value in enumerate(batch.inputs)), ("target", batch.target)]:
        places = bad_places(values)
        if places is not None:
            rows = [int(batch.rows[place]) for place in places.pop("places")]
            is_named = name == "input 0" and len(columns) == values.shape[-1]
            named = [columns[i] for i in places["columns"]] if is_named else []
            found.append({"of": name, **places, "rows": rows, "examples": [job.names(row) for row in rows],
                          "column_names": named})
    return found


def _weights(model: nn.Module) -> dict[str, Any]:
    sizes = {name: largest(value) for name, value in model.named_parameters()}
    name = max(sizes, key=lambda name: sizes[name], default=None)
    bad = [name for name, value in model.named_parameters() if is_bad(value.detach())]
    return {"largest": None if name is None else sizes[name], "largest_of": name, "bad": bad[:20], "num_bad": len(bad)}


def _gradients(model: nn.Module, scale: float) -> dict[str, Any]:
    grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    bad = [name for name, grad in grads.items() if is_bad(grad)]
    size = max((largest(grad) for grad in grads.values()), default=0.0)
    return {"bad": bad[:20], "num_bad": len(bad), "num": len(grads), "largest": size / scale}


def first_of_all(job: Job, autopsy: Autopsy) -> tuple[Autopsy, int]:
    """The autopsy of the first rank that found something, and that rank's number; every rank calls it."""
    if job.strategy.world == 1:
        return autopsy, 0
    text = json.dumps(asdict(autopsy)).encode()
    parts = job.strategy.gather(torch.tensor(list(text), dtype=torch.int64))
    told = [Autopsy(**json.loads(bytes(part.tolist()))) for part in parts]
    rank = next((number for number, one in enumerate(told) if one.found["phase"] is not None), 0)
    return told[rank], rank


