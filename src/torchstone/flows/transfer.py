"""What a plan would take over from given weights, said before a training starts."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

from torchstone.flows.plan import Planned
from torchstone.flows.train import setting_of


def weights_note(planned: Planned, *, project: Path) -> str | None:
    """Which tensors come from `model.weights`, which start afresh, and which are not used; None without weights,
    and for `hub`.

    It reads the weights and builds the model as a training would. Raises StoneError where they cannot be read or do
    not fit, and where a setting finds nothing to act on beside them.
    """
    if planned.plan.get("model.options.weights") in (None, "hub"):  # a plan downloads nothing
        return None
    assemble = importlib.import_module("torchstone.engines.pytorch.assemble")
    report = importlib.import_module("torchstone.engines.pytorch.weights.report")
    setting = setting_of(planned, project)
    model = assemble.build_model(replace(setting, encoding=assemble.fit_encoding(setting)))
    found = report.weights_report(model)
    fitting = importlib.import_module("torchstone.engines.pytorch.fitting")
    fitting.fitted(planned.plan, model, fitting.loss_of(planned.plan))
    return None if found is None else str(found)
