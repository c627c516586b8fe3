"""Losses measured by several ranks shape the same epochs as with one, on each of them, also after a cut."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from difficulty_script import dealt, job_on
from ranks_script import plain_net
from test_ranks import torchrun

from conftest import CPU
from torchstone.engines.pytorch.strategies.single import single

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("num", [2, 3])
def test_every_rank_deals_what_one_process_would(tmp_path: Path, num: int) -> None:
    out = tmp_path / "answers.json"
    done = torchrun(num, str(Path(__file__).parent / "difficulty_script.py"), str(out))
    assert done.returncode == 0, done.stderr[-3000:]
    answers = json.loads(out.read_text())
    assert answers["same"] is True
    assert answers["resumed"] is True
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    alone = dealt(job_on(single(CPU), model=plain_net(), average=None))
    torch.set_num_threads(before)
    assert answers["dealt"] == alone
    assert [len(rows) for rows in alone] == [75, 22, 43, 63]
