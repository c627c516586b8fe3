"""COD312: transforms of torchvision stand in a wrong order, or with mean and deviation exchanged."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.value import Value
from torchstone.rules._source import at

MAKES_TENSORS = ("ToTensor", "PILToTensor", "ToImage", "ToDtype", "ConvertImageDtype", "Lambda", "AutoAugment",
                 "to_tensor")
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def check(source: Source) -> Iterator[Finding]:
    """One finding per Normalize that stands before ToTensor, or holds ImageNet's mean and deviation exchanged."""
    for _, moment in source.moments():
        name = moment.value.name
        if moment.value.receiver is None and name.startswith("torchvision.transforms") and name.endswith(".Compose"):
            given = moment.value.given("transforms", 0)
            steps = given.args if given is not None and given.kind == "sequence" else []
            names = [one.name.rpartition(".")[2] for one in steps]
            place = names.index("Normalize") if "Normalize" in names else len(names)
            if "ToTensor" in names[place:] and not set(MAKES_TENSORS) & set(names[:place]):
                yield found(RULE, "Normalize stands before ToTensor", where=at(steps[place]))
        if moment.value.receiver is None and name.startswith("torchvision.transforms") and name.endswith(".Normalize"):
            mean, std = moment.value.given("mean", 0), moment.value.given("std", 1)
            if _numbers(mean) == IMAGENET_STD and _numbers(std) == IMAGENET_MEAN:
                yield found(RULE, "mean and deviation of ImageNet are exchanged", where=at(moment))


def _numbers(value: Value | None) -> tuple[object, ...]:
    return tuple(one.const for one in value.args) if value is not None and value.kind == "sequence" else ()


RULE = Rule(
    code="COD312",
    name="source_normalisation_order",
    severity="error",
    summary="Normalize before ToTensor, or mean and deviation exchanged",
    why="Normalize works on tensors between 0 and 1; ToTensor does not scale what is a tensor already.",
    fix="Compose([..., ToTensor(), Normalize(mean, std)]).",
    source="torchvision 0.29 documentation, transforms.Normalize: does not support PIL Image",
    check=check,
    trips=lambda: sketch("from torchvision import transforms as T\nt = T.Compose([T.Normalize(m, s), T.ToTensor()])\n"),
    passes=lambda: sketch("from torchvision import transforms as T\n"
                          "t = T.Compose([T.ToTensor(), T.Normalize(m, s)])\n"),
    wrong_when="the pictures are tensors before the first transform",
)
