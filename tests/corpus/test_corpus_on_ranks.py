"""Faults of several processes, two of them on the CPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from watching import expected, scripts

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def under_torchrun(script, folder) -> tuple[list[dict], str]:
    """What each rank's doctor says of a script, and all that was printed."""
    call = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "torchstone",
            "watch", "--json", str(script)]  # fmt: skip
    done = subprocess.run(call, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    starts = [match.start() for match in re.finditer(r'\{"findings"', done.stdout)]
    assert len(starts) == 2, done.stderr[-3000:]
    return [json.JSONDecoder().raw_decode(done.stdout, start)[0] for start in starts], done.stdout


@pytest.mark.parametrize("script", scripts("ranks"), ids=lambda script: script.stem)
def test_every_rank_says_the_same_cause(script, tmp_path):
    answers, output = under_torchrun(script, tmp_path)
    codes = expected(script)
    for answer in answers:
        bad = [one["code"] for one in answer["findings"] if one["severity"] != "advice"]
        assert (bad[0] in codes) if codes else bad == []
    assert "epoch 3 done" in output
