"""`preflight`: one batch through the real pipeline before anything is trained, and what it shows."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torchstone.core.errors import StoneError
from torchstone.core.finding import Finding
from torchstone.core.recipe import Rules
from torchstone.flows.contact_sheet import write_sheet
from torchstone.flows.judge import judge
from torchstone.flows.plan import Planned
from torchstone.flows.preflight_gate import FOLDER
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

    Raises StoneError for several ranks, and for what the job refuses.
    """
    if planned.plan["train.strategy"] != "single":
        raise StoneError("a preflight is made in one process", where="preflight", fix="call it without torchrun")
    assemble = importlib.import_module("torchstone.engines.pytorch.assemble")
    engine = importlib.import_module("torchstone.engines.pytorch.preflight.own")
    setting = setting_of(planned, project)
    setting = replace(setting, encoding=assemble.fit_encoding(setting))
    job = assemble.assemble(setting, assemble.start(planned.plan))
    rows, batch = engine.look_ahead(setting, job, seconds=seconds, tell=progress)
    sheet = write_sheet(project / ".torchstone" / "preflight", batch, planned.dataset)
    return Preflight(rows, judge(rows, FOLDER, planned.recipe.rules), sheet)
