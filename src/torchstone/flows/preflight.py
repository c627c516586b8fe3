"""`preflight`: one batch through the real pipeline before anything is trained, and what it shows."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torchstone.core.finding import Finding
from torchstone.core.recipe import Rules
from torchstone.flows.contact_sheet import write_sheet
from torchstone.flows.judge import judge
from torchstone.flows.plan import Planned
from torchstone.flows.preflight_gate import FOLDER, judge_ranks
from torchstone.flows.read_pictures import Progress
from torchstone.flows.train import setting_of

# Seconds that learning a batch by heart may take, where nothing else is said.
SECONDS = 10.0

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Preflight:
    """rows: what was measured (docs/preflight.md). sheet: where the first batch is shown; None for a foreign loop."""

    rows: Rows
    findings: list[Finding]
    sheet: Path | None = None


def preflight(
    model: Any, loader: Any, loss: Callable[[Any, Any], Any] | None = None, optimizer: Any = None, *,
    is_fresh: bool = True, seconds: float = SECONDS,
) -> list[Finding]:  # fmt: skip
    """Looks at the first batch of a loop of your own, before it trains; returns findings, errors first.

    loader: a DataLoader, or any iterable of batches: (x, y), (x1, x2, y), or a mapping for `model(**batch)`.
    loss: (output, target) → mean loss, or (sum, weight); with mappings (output, batch), and None takes `output.loss`.
    is_fresh: the weights are random, so that the first loss can be foretold. seconds: for learning a few examples by
    heart with a copy of the model; 0 for not.
    Weights, buffers, gradients, modes, the optimizer, the global generators, and generators that the loader or its
    dataset hold are afterwards what they were; a cache or a counter of a dataset is not. Batches are made in this
    process and, for random datasets, in worker processes of their own.
    Raises StoneError where model or loader are none, or give no batch.
    """
    engine = importlib.import_module("torchstone.engines.pytorch.preflight.loader")
    rows = engine.look_at_loop(model, loader, loss, optimizer, is_fresh=is_fresh, seconds=seconds)
    return judge(rows, FOLDER, Rules())


def preflight_plan(
    planned: Planned, *, project: Path, seconds: float = SECONDS, progress: Progress | None = None
) -> Preflight:
    """The checks on the job of a plan, without a run; the sheet goes to .torchstone/preflight of the project.

    Under torchrun every rank calls it and looks at its own share of the batch; what is given back is the same on all:
    the rows of rank 0, and the findings of all ranks. Raises StoneError for what the job refuses.
    """
    assemble = importlib.import_module("torchstone.engines.pytorch.assemble")
    engine = importlib.import_module("torchstone.engines.pytorch.preflight.own")
    setting = setting_of(planned, project)
    strategy = assemble.start(planned.plan)
    try:
        setting = replace(setting, encoding=assemble.fit_encoding(setting))
        job = assemble.assemble(setting, strategy)
        rows, batch = engine.look_ahead(setting, job, seconds=seconds, tell=progress)
        every = engine.rows_of_ranks(job, rows)
        folder = project / ".torchstone" / "preflight"
        sheet = write_sheet(folder, batch, planned.dataset) if strategy.rank == 0 else None
    finally:
        strategy.close()
    return Preflight(every[0], judge_ranks(every, planned.recipe.rules), sheet)
