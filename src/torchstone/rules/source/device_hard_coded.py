"""COD411: a script asks for a CUDA device without asking whether there is one."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.calls import is_model
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    training_loops,
)
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per training script that moves a model to "cuda" and never asks for devices or takes settings."""
    text = source.module.text
    asks = ("is_available", "argparse", "LOCAL_RANK", "accelerator", "device_count", "sys.argv")
    if any(word in text for word in asks):
        return
    for play in source.plays:
        if play.entry is not None or not training_loops(play):
            continue
        sick = [moment for moment in play.calls(".cuda", ".to") if _is_to_cuda(moment.value)]
        for moment in own(source, sick):
            yield found(RULE, "the device is always a CUDA one", where=at(moment))
            return


def _is_to_cuda(value: Value) -> bool:
    if value.receiver is None or not is_model(value.receiver):
        return False
    if value.name == "cuda":
        return True
    given = alternatives(value.given("device", 0))
    return bool(given) and all(isinstance(one.const, str) and one.const.startswith("cuda") for one in given)


RULE = Rule(
    code="COD411",
    name="source_device_hard_coded",
    severity="advice",
    summary="a hard-coded CUDA device",
    why="The script cannot be tried on a machine without a GPU of NVIDIA, nor tested there.",
    fix='device = torch.accelerator.current_accelerator() or torch.device("cpu")',
    source="torch 2.14 documentation, torch.accelerator",
    check=check,
    trips=lambda: changed(TRAINING, ("optimizer = ", "model.to('cuda')\noptimizer = ")),
    passes=lambda: changed(TRAINING, ("optimizer = ", "model.to('cuda' if torch.cuda.is_available() else 'cpu')\n"
                                      "optimizer = ")),
    wrong_when="the script is for one machine",
)
