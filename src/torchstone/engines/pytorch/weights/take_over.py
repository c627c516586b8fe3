"""Given weights into a model: every tensor but those of the ends must find its place, or nothing is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.weights.read import Given
from torchstone.engines.pytorch.weights.report import WeightsReport, note_report
from torchstone.engines.pytorch.weights.timm_names import from_timm

# What torch puts around a model leaves these words in the names: torch.compile, FSDP, activation checkpointing.
_WRAPPERS = {"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}


def take_over(
    network: nn.Module, given: Given, *, first: str | None = None, fresh: Sequence[str] = (), has_head: bool = True
) -> WeightsReport:
    """Copies the weights into the network and leaves the report with it.

    The last layer (unless `has_head` is false), `first` (the name of a weight that was made anew) and names that begin
    with one of `fresh` may stay as initialised; every other tensor of the network must be there with its shape: half
    a network computes nothing that its weights were learnt for. Missing counters of batches (`num_batches_tracked`)
    do not matter.
    Names may have any common prefix (`module.`, `model.`, `net.`), the words of torch's wrappers, be timm's, or be
    those of old transformers (`LayerNorm.gamma`).
    Raises StoneError where too little fits (with the first names and prefixes of both), or a weight is not finite.
    """
    own = network.state_dict()
    named, layout = _best_names(given, own)
    adapted = _to_grey(named, own, first)
    usable = {name: value for name, value in named.items() if not name.startswith(tuple(fresh))}
    fits = {name for name, value in own.items() if name in usable and _is_fit(value, usable[name])}
    allowed = (*([f"{head_of(own)}."] if has_head else []), *([first] if first else []), *fresh)
    missing = [n for n in own if n not in fits and not n.startswith(allowed) and not n.endswith("num_batches_tracked")]
    if missing:
        raise _too_little(given, named, own, missing, len(fits))
    wild = [name for name in own if name in fits and not bool(torch.isfinite(usable[name]).all())]
    if wild:
        raise StoneError(f"{wild[0]} and {len(wild) - 1} other tensors hold NaN or infinity", where=given.source,
                         fix="take weights from before that run broke")
    network.load_state_dict({name: usable[name] for name in fits}, strict=False)
    adapted = tuple(name for name in adapted if name in fits)
    report = WeightsReport(
        matched=tuple(name for name in own if name in fits and name not in adapted), adapted=adapted,
        fresh=tuple(name for name in own if name not in fits), unused=tuple(n for n in named if n not in own),
        source=given.source, sha256=given.sha256, layout=layout,
    )  # fmt: skip
    note_report(network, report)
    return report


def _is_fit(own: Tensor, given: Tensor) -> bool:
    return own.shape == given.shape and own.is_floating_point() == given.is_floating_point()


def head_of(own: Mapping[str, Tensor]) -> str:
    """The path of the layer that comes last in a model's state."""
    return list(own)[-1].rpartition(".")[0]


def _to_grey(named: dict[str, Tensor], own: Mapping[str, Tensor], first: str | None) -> tuple[str, ...]:
    """Sums the colours of a first convolution: a grey picture has the same value in all three."""
    name = first or next((name for name, value in own.items() if value.ndim == 4), "")
    if name not in named or name not in own:
        return ()
    if own[name].ndim != 4 or own[name].shape[1] != 1 or named[name].ndim != 4 or named[name].shape[1] != 3:
        return ()
    named[name] = named[name].sum(dim=1, keepdim=True)
    return (name,)


def _best_names(given: Given, own: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], str]:
    """The reading of the names under which most tensors fit, and what to call it."""
    best: tuple[int, dict[str, Tensor], str] = (-1, dict(given.tensors), given.layout)
    for named, words in _readings(given, own):
        num = sum(1 for name, value in own.items() if name in named and _is_fit(value, named[name]))
        if num > best[0]:
            best = (num, named, ", ".join(part for part in (given.layout, words) if part))
    return best[1], best[2]


def _readings(given: Given, own: Mapping[str, Tensor]) -> Iterator[tuple[dict[str, Tensor], str]]:
    plain = {_modern(_unwrapped(name)): value for name, value in given.tensors.items()}
    words = "" if plain.keys() == given.tensors.keys() else "names without wrappers, in today's words"
    yield plain, words
    prefix = _prefix(plain, own)
    yield _without(plain, prefix), f"names without '{prefix}'"
    while plain:
        renamed = from_timm(plain, own, given.source)
        if renamed is not None:
            yield renamed, "timm's names"
        shared = {name.partition(".")[0] for name in plain if "." in name}
        if len(shared) != 1:
            return
        plain = _without(plain, f"{shared.pop()}.")


def _unwrapped(name: str) -> str:
    return ".".join(part for part in name.split(".") if part not in _WRAPPERS)


def _modern(name: str) -> str:
    """BERT's first weights came from TensorFlow, whose norms have gamma and beta."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def _without(named: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in named.items()}


def _prefix(named: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> str:
    """What stands before the network's own names most often, with its dot; empty where they stand alone."""
    counts: Counter[str] = Counter()
    for name, value in named.items():
        parts = name.split(".")
        for cut in range(len(parts)):
            rest = ".".join(parts[cut:])
            if rest in own and own[rest].shape == value.shape:
                counts["".join(f"{part}." for part in parts[:cut])] += 1
    return max(counts, key=lambda prefix: (counts[prefix], -len(prefix)), default="")


def _too_little(
    given: Given, named: Mapping[str, Tensor], own: Mapping[str, Tensor], missing: Sequence[str], num_fits: int
) -> StoneError:
    if any(".lora_A." in name for name in named):
        return StoneError("these weights hold a LoRA adapter beside the weights it adapts", where=given.source,
                          fix="give the folder of the run: its merged weights are taken then")
    text = f"{num_fits} of {len(own)} tensors fit; among those that do not: {', '.join(missing[:3])}"
    other = next((name for name in missing if name in named), None)
    if other is not None:
        text += f" ({other} is {list(named[other].shape)} in the weights, {list(own[other].shape)} in the model)"
    text += f"; the weights' names begin with {_heads(named)}, the model's with {_heads(own)}"
    return StoneError(text, where=given.source,
                      fix="give weights of this very network, or choose another with model.name")


def _heads(names: Iterable[str]) -> str:
    heads = list(dict.fromkeys(name.partition(".")[0] for name in names))
    return ", ".join(heads[:6]) + (", …" if len(heads) > 6 else "")
