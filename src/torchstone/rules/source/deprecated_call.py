"""COD410: something is called that torch or torchvision has deprecated, or taken out."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at

# What is old, since which version, and what to call instead. Source: the warnings and release notes of each version.
OLD = {
    "torch.nn.functional.sigmoid": ("torch 0.4.1", "torch.sigmoid"),
    "torch.nn.functional.tanh": ("torch 0.4.1", "torch.tanh"),
    "torch.nn.functional.upsample": ("torch 0.4.1", "torch.nn.functional.interpolate"),
    "torch.nn.utils.clip_grad_norm": ("torch 0.4", "torch.nn.utils.clip_grad_norm_"),
    "torch.nn.init.xavier_uniform": ("torch 0.4", "torch.nn.init.xavier_uniform_"),
    "torch.nn.init.xavier_normal": ("torch 0.4", "torch.nn.init.xavier_normal_"),
    "torch.nn.init.kaiming_uniform": ("torch 0.4", "torch.nn.init.kaiming_uniform_"),
    "torch.nn.init.kaiming_normal": ("torch 0.4", "torch.nn.init.kaiming_normal_"),
    "torch.nn.init.uniform": ("torch 0.4", "torch.nn.init.uniform_"),
    "torch.nn.init.normal": ("torch 0.4", "torch.nn.init.normal_"),
    "torch.nn.init.constant": ("torch 0.4", "torch.nn.init.constant_"),
    "torch.qr": ("torch 1.9", "torch.linalg.qr"),
    "torch.chain_matmul": ("torch 1.9", "torch.linalg.multi_dot"),
    "torch.range": ("torch 0.4", "torch.arange, which leaves the end out"),
    "torch.autograd.Variable": ("torch 0.4", "the tensor itself"),
    "torch.set_default_tensor_type": ("torch 2.1", "torch.set_default_dtype and torch.set_default_device"),
    "torch.nn.utils.weight_norm": ("torch 2.1", "torch.nn.utils.parametrizations.weight_norm"),
}
GONE = {
    "torch.symeig": ("torch 2.0", "torch.linalg.eigh"), "torch.eig": ("torch 2.0", "torch.linalg.eig"),
    "torch.solve": ("torch 1.13", "torch.linalg.solve"), "torch.lstsq": ("torch 1.13", "torch.linalg.lstsq"),
    "torch.matrix_rank": ("torch 1.13", "torch.linalg.matrix_rank"),
    "torch.gels": ("torch 1.2", "torch.linalg.lstsq"), "torch.gesv": ("torch 1.2", "torch.linalg.solve"),
}


def check(source: Source) -> Iterator[Finding]:
    """One finding per call of an old name, per name once: an error where it is gone."""
    said: set[str] = set()
    for _, moment in source.moments(*OLD, *GONE):
        name = moment.value.name
        if name in said:
            continue
        said.add(name)
        version, instead = OLD.get(name) or GONE[name]
        state = "deprecated since" if name in OLD else "taken out in"
        yield found(RULE, f"{name} is {state} {version}", where=at(moment), fix=f"Call {instead}.",
                    severity="advice" if name in OLD else "error", evidence={"version": version, "instead": instead})
    for _, moment in source.moments():
        value = moment.value
        if value.receiver is None and value.name.startswith("torchvision.models.") and "pretrained" in value.keywords:
            yield found(RULE, "pretrained= is deprecated since torchvision 0.13", where=at(moment),
                        fix="Give weights=, such as ResNet50_Weights.DEFAULT, or None.")
            return


RULE = Rule(
    code="COD410",
    name="source_deprecated_call",
    severity="advice",
    summary="a deprecated call",
    why="It warns now, and is missing in a version to come.",
    fix="Call what took its place.",
    source="release notes of torch 0.4 to 2.1 and torchvision 0.13; TorchFix TOR001, TOR101 and TOR201",
    check=check,
    trips=lambda: sketch("import torch.nn.functional as F\ny = F.sigmoid(x)\n"),
    passes=lambda: sketch("import torch\ny = torch.sigmoid(x)\n"),
    wrong_when="the code is for an old version of torch",
)
