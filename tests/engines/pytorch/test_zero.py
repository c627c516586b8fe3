"""The optimizer's state shared out over two and three ranks: ddp's training, bit for bit, in less memory."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from ranks_script import plain_net
from test_ranks import torchrun
from torch import nn
from zero_script import zero_job

from conftest import CPU, toy_job
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.optimizers.adamw import adamw
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.strategies.ddp import BUCKET_ELEMENTS, bucketed
from torchstone.engines.pytorch.strategies.single import single
from torchstone.engines.pytorch.strategies.zero import owners, zero


@pytest.fixture(scope="module", params=[2, 3])
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("zero") / "answers.json"
    done = torchrun(request.param, str(Path(__file__).parent / "zero_script.py"), str(out))
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(out.read_text())
    return {**result, "folder": out.parent, "world": request.param}


@pytest.mark.integration
def test_losses_weights_averages_and_checkpoints_are_those_of_ddp_bit_for_bit(answers: dict[str, Any]) -> None:
    """Every optimizer, groups of unlike rates, an average, clipping; one with L1 and adaptive clipping beside."""
    compared = {name: same for name, same in answers.items() if name.startswith("as ddp")}
    assert len(compared) >= 13
    assert [name for name, same in compared.items() if not same] == []


@pytest.mark.integration
def test_a_cut_off_run_goes_on_bit_for_bit_under_zero_and_under_ddp(answers: dict[str, Any]) -> None:
    compared = {name: same for name, same in answers.items() if name.startswith("resumed")}
    assert len(compared) == 5
    assert [name for name, same in compared.items() if not same] == []


@pytest.mark.integration
@pytest.mark.parametrize("name", ["adamw", "sgd"])
def test_a_rank_keeps_its_share_of_the_state(answers: dict[str, Any], name: str) -> None:
    """Eight equal matrices of 1,024 weights and two small ones of 256 and 96: a rank has one more at most."""
    each, whole = answers[f"bytes {name}"]["each"], answers[f"bytes {name}"]["whole"]
    per_weight = 8 if name == "adamw" else 4
    assert whole == per_weight * (8 * 1024 + 256 + 96)
    assert sum(each) == whole
    assert max(each) <= whole / answers["world"] + per_weight * 1024


@pytest.mark.integration
def test_one_process_goes_on_from_a_checkpoint_of_several_ranks(answers: dict[str, Any]) -> None:
    path, _ = checkpoint.newest(answers["folder"] / "adamw")
    assert path is not None
    content = checkpoint.read(path)
    job = zero_job(single(CPU), "adamw")
    progress, notes = snapshot.restore(job, content)
    assert any(f"saved by {answers['world']} ranks, resumed by 1" in note for note in notes)
    taken = snapshot.take(job, progress)
    assert all(torch.equal(value, taken.tensors["optimizer"][n]) for n, value in content.tensors["optimizer"].items())
    assert fit(job, progress).status == "finished"


def test_the_fullest_rank_has_little_more_than_its_share() -> None:
    """Graham (1969): no more than 4/3 - 1/(3 ranks) of the best, which is no less than the mean or the largest."""
    draw = random.Random(0)
    for _ in range(50):
        sizes = [draw.randrange(1, 10**6) for _ in range(draw.randrange(1, 40))]
        for world in (2, 3, 8):
            found = owners(sizes, world)
            loads = [sum(s for s, owner in zip(sizes, found, strict=True) if owner == rank) for rank in range(world)]
            largest_two = sorted(sizes, reverse=True)[world - 1 : world + 1]
            best = max(sum(sizes) / world, max(sizes), sum(largest_two) if len(largest_two) == 2 else 0)
            assert max(loads) <= (4 / 3 - 1 / (3 * world)) * best + 1e-6
            assert found == owners(sizes, world)


def test_owners_by_hand() -> None:
    assert owners([10, 7, 6, 3], 2) == [0, 1, 1, 0]
    assert owners([5, 5, 5], 3) == [0, 1, 2]
    assert owners([5], 3) == [0]


def test_parcels_keep_the_order_and_hold_one_type_each() -> None:
    tensors = [nn.Parameter(torch.zeros(n, dtype=d)) for n, d in (
        (2, torch.float32), (3, torch.float32), (4, torch.float64), (BUCKET_ELEMENTS + 1, torch.float64),
    )]  # fmt: skip
    assert [[value.numel() for value in parcel] for parcel in bucketed(tensors)] == [[2, 3], [4], [BUCKET_ELEMENTS + 1]]


def test_one_process_keeps_all_and_zero_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = plain_net()
    job = toy_job(model=model, optimizer=adamw([{"params": list(model.parameters())}]), average=None, epochs=1)
    job.strategy.share(job.optimizer)
    fit(job, Progress())
    state = job.optimizer.state_dict()
    assert job.strategy.whole(state) is state
    assert job.strategy.own(state) is state
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(RuntimeError, match="torchrun"):
        zero(CPU)
