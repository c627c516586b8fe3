"""BatchNorm over two ranks is BatchNorm of one process on their batches together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sync_script import DTYPES, SHAPES, norm_like, passed, trained, whole
from test_ranks import torchrun
from torch import Tensor, nn

from conftest import CPU, blobs
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.feed import Feed
from torchstone.engines.pytorch.strategies.single import single
from torchstone.engines.pytorch.sync_batchnorm import SyncBatchNorm, check_windows, synchronised

NORMS = {"vectors": nn.BatchNorm1d, "maps": nn.BatchNorm2d}


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Tensor]]:
    folder = tmp_path_factory.mktemp("sync")
    done = torchrun(2, str(Path(__file__).parent / "sync_script.py"), str(folder))
    assert done.returncode == 0, done.stderr[-3000:]
    return [load_file(folder / f"{rank}.safetensors") for rank in (0, 1)]


def one_process(form: str, kind: str) -> dict[str, Tensor]:
    """The same on the whole batch, in float64 for a batch in bf16."""
    inputs, grad = whole(SHAPES[form], DTYPES[kind])
    if kind == "bfloat16":
        inputs, grad = inputs.double(), grad.double()
    return passed(norm_like(SHAPES[form], NORMS[form], inputs.dtype), inputs, grad)


@pytest.mark.integration
@pytest.mark.parametrize("form", SHAPES)
@pytest.mark.parametrize("kind, atol", [("float64", 1e-12), ("float32", 1e-4), ("bfloat16", 0.05)])
def test_outputs_gradients_and_statistics_are_those_of_the_union(
    ranks: list[dict[str, Tensor]], form: str, kind: str, atol: float
) -> None:
    found = [{name: answer[f"{form} {kind} {name}"] for name in one_process(form, kind)} for answer in ranks]
    for name, expected in one_process(form, kind).items():
        if name in ("outputs", "inputs"):
            together = torch.cat([answer[name] for answer in found])
            assert together.dtype == DTYPES[kind]
        elif name in ("weight", "bias"):
            together = found[0][name] + found[1][name]  # as the strategy sums them
        else:
            assert torch.equal(found[0][name], found[1][name])
            together = found[0][name]
        assert torch.allclose(together.double(), expected.double(), atol=atol, rtol=atol), name


@pytest.mark.integration
def test_a_training_by_two_ranks_ends_as_that_of_one(ranks: list[dict[str, Tensor]]) -> None:
    expected = trained(single(CPU), is_synchronised=False)
    for answer in ranks:
        for name, value in expected.items():
            assert torch.allclose(answer[f"trained {name}"].double(), value.double(), atol=2e-4), name


@pytest.mark.integration
def test_blocks_that_are_computed_anew_change_nothing(ranks: list[dict[str, Tensor]]) -> None:
    for answer in ranks:
        names = [name.removeprefix("trained ") for name in answer if name.startswith("trained ")]
        assert len(names) > 10
        assert all(torch.equal(answer[f"trained {name}"], answer[f"recomputed {name}"]) for name in names)


def test_in_one_process_and_in_evaluation_it_is_batchnorm_itself() -> None:
    inputs, grad = whole(SHAPES["maps"], torch.float32)
    own = norm_like(SHAPES["maps"], SyncBatchNorm, torch.float32)
    reference = norm_like(SHAPES["maps"], nn.BatchNorm2d, torch.float32)
    expected = passed(reference, inputs, grad)
    assert all(torch.equal(value, expected[name]) for name, value in passed(own, inputs, grad).items())
    assert torch.equal(own.eval()(inputs), reference.eval()(inputs))
    with pytest.raises(ValueError, match="1 axes"):
        own(torch.zeros(3))


@pytest.mark.integration
def test_torchs_own_refuses_a_cpu(ranks: list[dict[str, Tensor]]) -> None:
    """Why there is one of our own; when this fails, torch's will do."""
    assert ranks[0]["torch refuses"].item() == ranks[1]["torch refuses"].item() == 1


def test_synchronised_keeps_names_weights_statistics_and_modes() -> None:
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, momentum=0.2), nn.Sequential(nn.BatchNorm2d(4).eval()))
    model(torch.randn(5, 1, 8, 8))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    changed = synchronised(model)
    assert changed is model
    assert list(changed.state_dict()) == list(before)
    assert all(torch.equal(value, before[name]) for name, value in changed.state_dict().items())
    assert [type(changed[1]), changed[1].momentum, changed[2][0].training] == [SyncBatchNorm, 0.2, False]
    assert isinstance(synchronised(nn.BatchNorm1d(3)), SyncBatchNorm)
    with pytest.raises(StoneError, match="no BatchNorm"):
        synchronised(nn.Linear(2, 2))


@pytest.mark.parametrize("num, batch, accumulate, is_even", [
    (24, 12, 1, True), (26, 12, 1, False), (27, 12, 1, False), (28, 12, 1, True), (24, 12, 3, True),
    (24, 6, 2, True), (28, 7, 2, False), (25, 12, 1, False), (8, 2, 1, True),
])  # fmt: skip
def test_windows_that_would_keep_a_rank_waiting_are_refused(
    num: int, batch: int, accumulate: int, is_even: bool
) -> None:
    feed = Feed(blobs(num), np.arange(num), batch, 0, accumulate=accumulate, world=2)
    counts = []
    for rank in (0, 1):
        mine = Feed(blobs(num), np.arange(num), batch, 0, accumulate=accumulate, rank=rank, world=2)
        counts.append([len(window.batches) for window in mine.epoch(0)])
    assert (counts[0] == counts[1]) == is_even
    if is_even:
        check_windows(feed, 3)
    else:
        with pytest.raises(StoneError, match="waits for the others"):
            check_windows(feed, 3)
