"""Two and three ranks over gloo: the same training as one process, every example once, all or none."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from ranks_script import losses, plain_net, unfreezes

from conftest import CPU, blobs, toy_job
from torchstone.engines.pytorch.strategies.single import single

pytestmark = pytest.mark.integration


def torchrun(num: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(num), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent)}
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)


@pytest.fixture(scope="module", params=[2, 3])
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("ranks") / "answers.json"
    done = torchrun(request.param, str(Path(__file__).parent / "ranks_script.py"), str(out))
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(out.read_text())
    return result


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_the_curve_is_that_of_one_process_with_the_same_global_batch(answers: dict[str, Any]) -> None:
    one = losses(toy_job(model=plain_net(), strategy=single(CPU), average=None))
    assert answers["curve"] == pytest.approx(one, abs=1e-5)


def test_the_rate_depends_on_steps_and_not_on_ranks_or_accumulation(answers: dict[str, Any]) -> None:
    """accelerate#2926: with two ranks StepLR(4) decayed every 2 steps."""
    assert answers["rates"] == pytest.approx([1e-2 * (1 - step / 24) for step in range(24)])


def test_a_cut_off_run_ends_with_the_same_state_on_every_rank(answers: dict[str, Any]) -> None:
    assert answers["resumed"] is True


def test_five_examples_are_five_examples(answers: dict[str, Any]) -> None:
    """torchmetrics with DistributedSampler scores 6 of 5 and says accuracy .3333; it is .2."""
    assert answers["five"] == {"n": 5, "of": 5, "accuracy": 0.2}


def test_fewer_examples_than_ranks_are_scored_once(answers: dict[str, Any]) -> None:
    assert answers["one"] == {"n": 1, "of": 1, "accuracy": 1.0}


def test_batchnorm_statistics_are_agreed_for_judging_and_then_given_back(answers: dict[str, Any]) -> None:
    """Under torch 2.14.1's DDP they differ: mean .002 on one rank, .475 on the other."""
    seen = answers["buffers"]
    assert seen["apart"] > 1e-3
    assert seen["agreed"] == 0.0
    assert seen["is_mean"] < 1e-6
    assert seen["restored"] == 0.0


def test_statistics_measured_for_an_average_are_those_of_all_examples_on_every_rank(answers: dict[str, Any]) -> None:
    assert answers["measured"]["apart"] == 0.0
    assert answers["measured"]["off"] < 1e-5


def test_layers_are_released_on_all_ranks_as_in_one_process(answers: dict[str, Any]) -> None:
    one = unfreezes(single(CPU))
    assert answers["unfrozen"] == pytest.approx(one, abs=1e-5)
    assert answers["unfrozen"][:8] != pytest.approx(answers["curve"][:8], abs=1e-5)


def test_a_parameter_that_nobody_uses_is_left_alone(answers: dict[str, Any]) -> None:
    assert answers["unused"] is True


def test_all_ranks_stop_at_the_same_step(answers: dict[str, Any]) -> None:
    assert answers["stopped"] == 4


def test_every_example_is_seen_once_an_epoch(answers: dict[str, Any]) -> None:
    assert answers["seen"] == [1, 1]


def test_ranks_without_examples_take_part(answers: dict[str, Any]) -> None:
    one = losses(
        toy_job(model=plain_net(), strategy=single(CPU), average=None, batch_size=1, epochs=1, source=blobs(20))
    )
    assert answers["empty_shares"] == pytest.approx(one, abs=1e-5)


def test_the_trace_is_told_which_examples_came_to_which_rank(answers: dict[str, Any]) -> None:
    (row,) = answers["told"]
    assert (row["examples"], row["distinct"], row["shared"]) == (75, 75, 0)
    assert row["by_split"] == {"train": 75, "validation": 0, "test": 0, "synthetic": 0}
    assert row["digest"] == hashlib.sha256("".join(f"row {i}\n" for i in range(75)).encode()).hexdigest()
    assert len(row["ranks"]) == answers["world"]
    assert sum(rank["distinct"] for rank in row["ranks"]) == 75
    assert len({rank["digest"] for rank in row["ranks"]}) == answers["world"]
