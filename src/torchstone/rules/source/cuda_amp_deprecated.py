"""COD403: torch.cuda.amp is deprecated."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at, edit

# The old name, and the new one with the device that its first argument then names.
DEVICES = {
    f"torch.{device}.amp.{name}": (f"torch.amp.{name}", device)
    for device in ("cuda", "cpu") for name in ("autocast", "GradScaler")
}


def check(source: Source) -> Iterator[Finding]:
    """One finding per autocast or GradScaler of torch.cuda.amp and torch.cpu.amp."""
    for _, moment in source.moments(*DEVICES):
        new, device = DEVICES[moment.value.name]
        node = moment.value.node
        evidence = {}
        if isinstance(node, ast.Call) and not node.args and ast.unparse(node.func) == moment.value.name:
            rest = "".join(f", {ast.get_source_segment(source.module.text, one)}" for one in node.keywords)
            evidence = {"edits": [edit(node, f'{new}("{device}"{rest})')]}
        what = f"{moment.value.name} is deprecated: {new}({device!r}, ...) takes its place"
        yield found(RULE, what, where=at(moment), evidence=evidence)


RULE = Rule(
    code="COD403",
    name="cuda_amp_deprecated",
    severity="advice",
    summary="torch.cuda.amp instead of torch.amp",
    why="Each call warns, and the old names will be removed.",
    fix="Write torch.amp.autocast('cuda', ...) and torch.amp.GradScaler('cuda', ...).",
    source="torch 2.14, torch/cuda/amp: deprecated with FutureWarning (since torch 2.4); TorchFix TOR101",
    check=check,
    trips=lambda: sketch('import torch\nwith torch.cuda.amp.autocast(enabled=True):\n    pass\n'),
    passes=lambda: sketch("import torch\nwith torch.amp.autocast('cuda', enabled=True):\n    pass\n"),
    wrong_when="the code must run on torch before 2.3, too",
)
