"""What a batch that broke a run shows when it is run once more: the layer, the operation, the cause; and it is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from conftest import CPU, blobs, small_net, toy_job
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.losses.mse import mse
from torchstone.engines.pytorch.postmortem import keep
from torchstone.engines.pytorch.postmortem.autopsy import examine
from torchstone.engines.pytorch.precisions.fp16 import fp16
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.sources.tensors import TensorSource
from torchstone.engines.pytorch.step import take_step
from torchstone.rules._non_finite import cause


class Does(nn.Module):
    """A layer that does one thing."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, hidden: Tensor) -> Tensor:
        """The function of it."""
        return self.function(hidden)


def around(function: Callable[[Tensor], Tensor]) -> nn.Module:
    """Two layers around one that does one thing."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), Does(function), nn.Linear(16, 3))


def job_of(function: Callable[[Tensor], Tensor], **changes: Any) -> Job:
    return toy_job(model=around(function), average=None, **changes)


def told_of(job: Job) -> dict[str, Any]:
    """The event with which a run of this job ends because of a number; empty where it ends well."""
    told: dict[str, Any] = {}

    def observe(event: Any) -> None:
        if event.kind == "finding":
            told.update(event.values)

    fit(job, Progress(), [observe])
    return told


def masked(hidden: Tensor, rows: int) -> Tensor:
    """Attention over the batch in which so many rows may look at nothing."""
    hidden_rows = torch.zeros(len(hidden), len(hidden), dtype=torch.bool)
    hidden_rows[:rows] = True
    scores = (hidden @ hidden.T).masked_fill(hidden_rows | (torch.ones_like(hidden_rows).triu(1)), -torch.inf)
    return torch.softmax(scores, 1) @ hidden


SICK = {
    "a logarithm of 0": (lambda h: h.relu().log(), "forward", "log", "log of 0"),
    "a deviation of 0": (lambda h: (h - h) / (h - h).std(0), "forward", "div", "a division by 0"),
    "a root below 0": (lambda h: h.sqrt(), "forward", "sqrt", "the root of a negative number"),
    "a row that sees nothing": (lambda h: masked(h, 1), "forward", "_softmax", "a softmax over nothing: 1 rows"),
    "an exponential": (lambda h: (300 * h).exp(), "forward", "exp", "is beyond float32"),
    "a root at 0": (lambda h: (h * h.relu()).sqrt(), "backward", "sqrt", "the slope of sqrt at 0"),
    "a power at 0": (lambda h: (h * h.relu()) ** 0.5, "backward", "pow", "the slope of pow at 0"),
    "a root behind where": (lambda h: torch.where(h > 0, h.sqrt(), 0 * h), "backward", "sqrt", "at a negative number"),
}
WELL = {
    "a logarithm of more than 0": lambda h: (h.relu() + 1e-3).log(),
    "a deviation with epsilon": lambda h: (h - h) / ((h - h).std(0) + 1e-5),
    "a causal mask": lambda h: masked(h, 0),
    "a logarithm of 0 that is not used": lambda h: torch.where(h.relu() > 0, (h.relu() * 0 + 1).log(), h),
    "a root that is masked later": lambda h: h.relu().sqrt(),
    "an infinity that divides": lambda h: h / (1 + (1000 * h.detach()).exp()),
}


@pytest.mark.parametrize("name", SICK)
def test_the_operation_and_the_layer_in_which_it_was_born_are_named(name: str) -> None:
    function, phase, operation, sentence = SICK[name]
    found = told_of(job_of(function))["post_mortem"]
    assert (found["phase"], found["layer"], found["class"], found["operation"]) == (phase, "1", "Does", operation)
    why = cause(found)
    assert why.kind in ("operation", "overflow")
    assert sentence in why.what
    assert why.fix


@pytest.mark.parametrize("name", WELL)
def test_infinities_that_do_no_harm_end_no_run(name: str) -> None:
    assert told_of(job_of(WELL[name])) == {}


def test_a_harmless_infinity_before_the_true_cause_is_not_blamed() -> None:
    found = told_of(job_of(lambda h: (h.relu().sqrt() + 1 / (1 + (1000 * h.detach()).exp()) - 5).sqrt()))["post_mortem"]
    assert (found["phase"], found["operation"]) == ("forward", "sqrt")
    assert found["operands"][0]["negatives"]
    assert found["operands"][0]["inf"] == 0


def test_a_value_that_is_nan_is_followed_to_its_example_and_column() -> None:
    batch = blobs().batch(torch.arange(90).numpy(), None)
    inputs = batch.inputs[0].clone()
    inputs[31, 2] = torch.nan
    found = told_of(toy_job(source=TensorSource([inputs], batch.target)))["post_mortem"]
    assert (found["phase"], found["layer"], found["origin"]) == ("forward", "0", "input 0")
    assert [(one["rows"], one["columns"]) for one in found["data"]] == [([31], [2])]
    assert cause(found).kind == "data"


def test_an_infinite_target_of_a_regression_is_followed_to_its_example() -> None:
    values = torch.linspace(-1, 1, 90)
    values[17] = torch.inf
    source = TensorSource([torch.randn(90, 8, generator=torch.Generator().manual_seed(1))], values)
    job = replace(toy_job(source=source, model=small_net(1), loss=mse(), average=None), validation=None)
    found = told_of(job)["post_mortem"]
    assert (found["phase"], found["layer"], found["origin"]) == ("forward", "loss", "target")
    assert found["data"][0]["rows"] == [17]
    assert "infinity in the target" in cause(found).what


def test_float16_says_how_large_the_number_was_that_it_could_not_hold() -> None:
    job = job_of(lambda h: h, precision=fp16(CPU))
    with torch.no_grad():
        job.model[0].weight.fill_(3e4)  # type: ignore[index, union-attr, operator]
    found = _examined(job, Progress())
    exact = max(float(job.model[0](batch.inputs[0]).detach().abs().max()) for batch in _window(job).batches)  # type: ignore[index, operator]
    assert (found["phase"], found["layer"], found["operation"]) == ("forward", "0", "addmm")
    assert found["wide"] == pytest.approx(exact, rel=1e-2)
    why = cause(found)
    assert why.kind == "overflow"
    assert "65,504" in why.what


def test_a_run_that_blew_up_is_told_by_its_weights() -> None:
    model = nn.Linear(8, 3)
    job = toy_job(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=3e38), average=None, clip_norm=0.0)
    found = told_of(job)["post_mortem"]
    why = cause(found)
    assert why.kind == "explosion"
    assert "in weight" in why.what


def _window(job: Job) -> Any:
    return next(job.feed.epoch(0))


def _examined(job: Job, progress: Progress) -> dict[str, Any]:
    window = _window(job)
    outcome = take_step(job, window, progress, 0.0)
    return examine(job, window.batches, len(window.rows), outcome.before, outcome.row["scale"]).found


def test_looking_back_changes_neither_weights_nor_buffers_nor_the_draws_to_come() -> None:
    job = toy_job()
    state = {name: value.clone() for name, value in job.model.state_dict().items()}
    drawn = torch.get_rng_state()
    window = _window(job)
    autopsy = examine(job, window.batches, len(window.rows), {"cpu": drawn}, 1.0)
    assert autopsy.found["phase"] is None
    assert torch.equal(torch.get_rng_state(), drawn)
    assert all(torch.equal(value, state[name]) for name, value in job.model.state_dict().items())
    assert all(p.grad is None for p in job.model.parameters())


def test_dropout_falls_as_it_fell_so_that_the_loss_is_the_same_bit_for_bit() -> None:
    job = toy_job(model=small_net(dropout=0.5), optimizer=None)
    window = _window(job)
    before = torch.get_rng_state()
    loss = job.loss(job.model(*window.batches[0].inputs), window.batches[0].target)[0] / 10
    for module in job.model.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.reset_running_stats()
    torch.manual_seed(99)
    again = examine(job, window.batches, len(window.rows), {"cpu": before}, 1.0).found["loss"]
    assert again == float(loss.detach())


def sick_run(folder: Path, **changes: Any) -> tuple[Job, dict[str, Any]]:
    """A run with dropout that ends in its second epoch, where an example is NaN."""
    batch = blobs().batch(torch.arange(90).numpy(), None)
    inputs = batch.inputs[0].clone()
    inputs[11, 4] = torch.nan
    job = toy_job(folder / "checkpoints", source=TensorSource([inputs], batch.target), **changes)
    return job, told_of(job)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_kept_window_gives_the_same_autopsy_in_a_job_that_is_built_anew(accumulate: int, tmp_path: Path) -> None:
    job, told = sick_run(tmp_path, accumulate=accumulate)
    (kept,) = keep.kept_in(tmp_path)
    content = checkpoint.read(kept)
    fresh, _ = toy_job(source=job.feed.source, accumulate=accumulate), torch.manual_seed(1234)  # type: ignore[arg-type]
    snapshot.restore(fresh, checkpoint.read(tmp_path / "checkpoints" / content.state["checkpoint"]))
    fresh.model.train()
    batches = keep.kept_batches(content, fresh.feed)
    again = examine(fresh, batches, content.state["num"], content.tensors["generators"], content.state["scale"])
    assert again.found == told["post_mortem"]
    assert again.layers == content.state["autopsy"]["layers"]
    assert 11 in batches[again.found["micro_batch"]].rows


def test_a_window_that_is_too_large_to_be_copied_is_made_again_from_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep, "LARGEST_BATCH", 10)
    job, _ = sick_run(tmp_path)
    content = checkpoint.read(keep.kept_in(tmp_path)[0])
    assert set(content.tensors["batch"]) == {"0.rows"}
    (batch,) = keep.kept_batches(content, job.feed)
    assert torch.equal(torch.from_numpy(batch.rows), content.tensors["batch"]["0.rows"])
    assert batch.inputs[0].isnan().sum() == 1


def test_a_sound_run_keeps_nothing(tmp_path: Path) -> None:
    fit(toy_job(tmp_path / "checkpoints"), Progress())
    assert keep.kept_in(tmp_path) == []


def test_what_cannot_be_run_again_says_why_and_does_not_hide_what_ended_the_run() -> None:
    calls = []

    def once(hidden: Tensor) -> Tensor:
        calls.append(1)
        if len(calls) > 2:  # training, the search for the examples, and then the post-mortem
            raise RuntimeError("out of memory")
        return hidden.relu().log()

    told = told_of(job_of(once))
    assert told["problem"] == "loss"
    assert "out of memory" in told["post_mortem"]["refused"]
    assert "out of memory" in cause(told["post_mortem"]).what


def test_a_kept_batch_that_was_damaged_is_called_that_and_the_way_out_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "step-3"
    checkpoint.write(checkpoint.Content({"batch": {"x": torch.zeros(2)}}, {"step": 3}), folder)
    (folder / "batch.safetensors").write_bytes(b"no")
    with pytest.raises(StoneError, match="this kept batch is not used") as caught:
        checkpoint.read(folder, called="kept batch", fix="replay another one")
    assert caught.value.fix == "replay another one"
