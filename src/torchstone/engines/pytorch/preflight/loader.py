"""The checks before a run on a loop that is not ours: its model, its loader, its loss.

Legend of axes: B examples.
"""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from torchstone.core.errors import StoneError
from torchstone.engines.attach.asking import undisturbed
from torchstone.engines.attach.loaders import tensors_of
from torchstone.engines.pytorch.preflight.bench import Bench, Row, kind_of, mapped, scores_of, untouched
from torchstone.engines.pytorch.preflight.checks import examine, same_rows, stale_gradients

FEW, COMPARED, PATIENCE_S = 16, 4, 20.0
DEPTH, MOST_HELD = 4, 2000


def look_at_loop(
    model: nn.Module, loader: Any, loss: Callable[[Any, Any], Any] | None, optimizer: torch.optim.Optimizer | None, *,
    is_fresh: bool, seconds: float,
) -> list[Row]:  # fmt: skip
    """The rows of all checks; see `flows.preflight.preflight` for what may be given. Everything is put back.

    Raises StoneError for a model that is none, a loader that gives nothing, and a batch that cannot be taken apart.
    """
    if not isinstance(model, nn.Module):
        raise StoneError(f"the model is a {type(model).__name__}; a torch.nn.Module is needed", where="ts.preflight")
    with kept_generators(loader), undisturbed(model):
        rows: list[Row] = [augmentation(loader)]
        bench = bench_of(model, first_of(loader), loss, optimizer, is_fresh)
        stale = stale_gradients(bench)
        rows = [*examine(bench, seconds=seconds), *rows]
    return [{**row, "stale": stale} if row["event"] == "gradients" else row for row in rows]


def first_of(loader: Any) -> Any:
    """The first batch; raises StoneError where there is none."""
    try:
        walk = iter(loader)
    except TypeError:
        raise StoneError(f"the loader is a {type(loader).__name__}, which gives no batches", where="ts.preflight",
                         fix="give a DataLoader, or a list of batches") from None
    batch = next(walk, None)
    del walk  # worker processes end with it
    if isinstance(loader, DataLoader) and loader.persistent_workers:
        loader._iterator = None  # the loop's own first pass is to start workers of its own
    if batch is None:
        raise StoneError("the loader gives no batch", where="ts.preflight",
                         fix="look at the length of its dataset, at batch_size and drop_last")
    return batch


def bench_of(
    model: nn.Module, batch: Any, loss: Callable[[Any, Any], Any] | None, optimizer: torch.optim.Optimizer | None,
    is_fresh: bool,
) -> Bench:  # fmt: skip
    """A batch with what it meets: (x, y) and (x1, x2, y) go to model(*x) and loss(output, y), a mapping to
    model(**batch) and loss(output, batch), or the output's own `.loss` where no loss is given."""
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    batch = mapped(batch, lambda tensor: tensor.to(device))
    inputs, target = _apart(batch, loss)
    was_training = {name for name, module in model.named_modules() if module.training}
    all_eval = not was_training

    def to_train(one: nn.Module) -> None:
        for name, module in one.named_modules():  # what the user put into eval mode stays there, unless all of it is
            module.training = all_eval or name in was_training

    def forward(one: nn.Module, given: Any) -> Any:
        return one(**given) if isinstance(given, Mapping) else one(*given)

    def mean(output: Any, wanted: Any) -> Tensor:
        value = output.loss if loss is None else loss(output, wanted)
        if isinstance(value, tuple) and len(value) == 2:  # (sum, weight), as our own losses give it
            return value[0] / value[1]  # type: ignore[no-any-return]
        return value  # type: ignore[no-any-return]

    with untouched(model), torch.no_grad():
        kind = _kind(model, forward, inputs, target)
    return Bench(
        model=model, inputs=inputs, target=target, forward=forward, plain_forward=forward, loss=mean,
        to_train=to_train, small=few_of(inputs, target), kind=kind, optimizer=optimizer, is_fresh=is_fresh,
    )  # fmt: skip


def _apart(batch: Any, loss: Any) -> tuple[Any, Any]:
    if isinstance(batch, Mapping):
        return batch, batch
    if isinstance(batch, (list, tuple)) and len(batch) > 1:
        return tuple(batch[:-1]), batch[-1]
    if isinstance(batch, Tensor) and loss is not None:
        return (batch,), batch
    raise StoneError(
        f"a batch is a {type(batch).__name__}; it is to be (inputs, target), or a mapping for model(**batch)",
        where="ts.preflight", fix="wrap the loader so that it gives such batches",
    )


def _kind(model: nn.Module, forward: Callable[..., Any], inputs: Any, target: Any) -> str | None:
    try:
        model.eval()
        return kind_of(scores_of(forward(model, inputs)), target)
    except Exception:  # the pass in train mode says what is wrong
        return None


def few_of(inputs: Any, target: Any) -> tuple[Any, Any] | None:
    """Up to 16 examples of the batch, no two inputs alike; None where the tensors are not as long, or targets equal."""
    tensors = [*tensors_of(inputs), *tensors_of(target)]
    if not tensors or any(t.ndim == 0 or len(t) != len(tensors[0]) for t in tensors):
        return None
    seen: set[bytes] = set()
    places: list[int] = []
    for place in range(len(tensors[0])):
        key = b"".join(_bytes(value[place]) for value in tensors_of(inputs))
        if key not in seen and len(places) < FEW:
            seen.add(key)
            places.append(place)
    chosen = torch.tensor(places)
    few = mapped((inputs, target), lambda t: t[chosen.to(t.device)])
    if len({_bytes(row) for row in (tensors_of(few[1]) or [chosen])[0]}) < 2:
        return None
    return few[0], few[1]


def _bytes(value: Tensor) -> bytes:
    return value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def augmentation(loader: Any) -> Row:
    """Whether a random dataset draws alike in its worker processes, or in every epoch.

    The same few examples are asked for twice of each worker, and again of new workers as an epoch starts them; the
    dataset of this process is not asked. Not judged: no map-style dataset, or one that cannot go to a worker.
    """
    row: Row = {"event": "augmentation", "is_wanted": False, "parts": [], "workers": getattr(loader, "num_workers", 0)}
    if type(loader) is not DataLoader or isinstance(loader.dataset, IterableDataset) or not num_of(loader):
        return {**row, "not_judged": "not a DataLoader over a dataset with indices"}
    try:
        first, second = (_asked(loader, epoch) for epoch in range(2))
    except Exception as error:  # a dataset that cannot be sent to a worker, or fails in one
        return {**row, "not_judged": f"in a worker process: {type(error).__name__}: {str(error).splitlines()[0][:120]}"}
    workers = max(1, loader.num_workers)
    draws = [first[turn * workers] for turn in range(2)]
    row |= {"num": len(tensors_of(draws[0])[0]), "same_when_asked_again": same_rows(*draws)}
    if loader.num_workers > 1:
        row["same_in_workers"] = min(same_rows(first[0], other) for other in first[1:workers])
    if loader.num_workers > 0 and not loader.persistent_workers:
        row["same_in_epochs"] = same_rows(first[0], second[0])
    return row


def _asked(loader: Any, epoch: int) -> list[Any]:
    """The same examples from each worker in turn, twice."""
    workers = max(1, loader.num_workers)
    places = list(range(min(COMPARED, num_of(loader))))
    again = DataLoader(
        loader.dataset, batch_sampler=[places] * (2 * workers), num_workers=workers, collate_fn=loader.collate_fn,
        worker_init_fn=loader.worker_init_fn, multiprocessing_context=loader.multiprocessing_context,
        generator=torch.Generator().manual_seed(epoch), timeout=PATIENCE_S,
    )  # fmt: skip
    return [mapped(batch, torch.clone) for batch in again]


def num_of(loader: Any) -> int:
    """Examples of a loader's dataset."""
    return len(loader.dataset)


@contextlib.contextmanager
def kept_generators(thing: Any) -> Iterator[None]:
    """The random generators that a loader, its sampler and its dataset hold are afterwards what they were."""
    held = list(_generators(thing, DEPTH, {}))
    states = [(one, _state(one)) for one in held]
    try:
        yield
    finally:
        for one, state in states:
            _put(one, state)


def _generators(thing: Any, depth: int, seen: dict[int, Any]) -> Iterator[Any]:
    if id(thing) in seen or len(seen) > MOST_HELD or isinstance(thing, (Tensor, np.ndarray, nn.Module, type, str)):
        return
    seen[id(thing)] = thing
    if isinstance(thing, (np.random.Generator, np.random.RandomState, random.Random, torch.Generator)):
        yield thing
    elif depth:
        inner = thing if isinstance(thing, (list, tuple)) else vars(thing) if hasattr(thing, "__dict__") else thing
        members = inner.values() if isinstance(inner, Mapping) else inner if isinstance(inner, (list, tuple)) else ()
        for member in list(members)[:100]:
            yield from _generators(member, depth - 1, seen)


def _state(one: Any) -> Any:
    if isinstance(one, np.random.Generator):
        return copy.deepcopy(one.bit_generator.state)
    return one.getstate() if isinstance(one, random.Random) else one.get_state()


def _put(one: Any, state: Any) -> None:
    if isinstance(one, np.random.Generator):
        one.bit_generator.state = state
    elif isinstance(one, random.Random):
        one.setstate(state)
    else:
        one.set_state(state)
