"""What the plan chooses for pictures: size, augmentation, cache, model, optimizer, and how long to train."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchstone.core.plan import START, Choice
from torchstone.parts.choices.adamw_cosine import COSINE
from torchstone.parts.choices.which_model import SMALL_SIDE as SMALL
from torchstone.parts.choices.which_model import which_model

DIGITS = "measured on scikit-learn's digits, 2026-12-01"
CLOTHING = "measured on clothing10 at 64 pixels, 2026-12-01"
CACHE = "measured against ImageFolder with PIL, 2026-12-01: benchmarks/bench_input.py"
KORNBLITH = "Kornblith et al. 2019, Do Better ImageNet Models Transfer Better?"
SYMBOLS = 32  # pixels; grey pictures up to here are mostly digits, letters and other signs
USUAL = 224  # pixels; what torchvision's networks were made for
FEW = 20_000  # training pictures; the sets of Kornblith et al. on which pretrained weights helped are mostly smaller


def choose_image(facts: Mapping[str, Any]) -> list[Choice]:
    """Size, augmentation, cache, model, optimizer, schedule and length of a training on pictures, with reasons.

    facts: num_train (pictures), median_height, median_width (pixels), channels (1 or 3), has_accelerator, and,
    where the user named one, model.
    """
    size = _size(facts)
    model = str(facts.get("model") or which_model({"modality": "image", "size": size.value}).choice)
    return [
        size, *_augment(facts, size.value), *_cache(), *_model(facts, size.value, model),
        *_optimizer(model, size.value), *_length(facts, size.value),
    ]  # fmt: skip


def _size(facts: Mapping[str, Any]) -> Choice:
    height, width = int(facts["median_height"]), int(facts["median_width"])
    side, seen = max(8, min(height, width)), f"pictures are {width} x {height} pixels at the median"
    if side <= SMALL:
        return Choice("image.size", side, "derived", f"{seen}: every pixel is kept")
    if not facts.get("has_accelerator"):
        named = facts.get("model") not in (None, "small_resnet")
        return Choice(
            "image.size", min(side, 128) if named else SMALL, "derived",
            f"{seen}; no accelerator: {USUAL} pixels would cost {USUAL**2 / SMALL**2:.0f} times as much as {SMALL}",
            START, "an accelerator, or details that vanish at this size",
        )  # fmt: skip
    return Choice("image.size", min(side // 32 * 32, USUAL), "derived", f"{seen}; at most {USUAL}, what the networks "
                  "were made for, and a multiple of 32, their stride", "He et al. 2016",
                  "details that vanish at this size")


def _augment(facts: Mapping[str, Any], size: int) -> list[Choice]:
    if facts["channels"] == 1 and size <= SYMBOLS:
        return [Choice(
            "image.augment.name", "shift", "derived",
            f"grey and {size} pixels: signs, perhaps; moved a little they stay what they are, mirrored they may not",
            DIGITS, "photographs: crop_flip",
        )]  # fmt: skip
    return [
        Choice("image.augment.name", "crop_flip", "derived",
               "photographs: a part or the mirror image shows the same thing", "Szegedy et al. 2015",
               "left and right mean something, or small things at the edge decide: none or shift"),
        Choice("image.augment.options.smallest", 0.35, "derived",
               "share of the area: ImageNet's 0.08 is for a million pictures; small sets learn from larger parts",
               f"{CLOTHING}; {START}"),
    ]


def _cache() -> list[Choice]:
    return [Choice(
        "image.cache_gib", 4.0, "default",
        "decoded pictures are kept as bytes: later epochs read instead of decoding; the longest unused makes room",
        CACHE, "0 turns it off",
    )]  # fmt: skip


def _model(facts: Mapping[str, Any], size: int, model: str) -> list[Choice]:
    num = int(facts["num_train"])
    # weights learnt at 224 pixels know nothing of signs of 8
    is_help = num < FEW and size > SYMBOLS
    help_of = f"with {num:,} training pictures pretrained weights would help: " if is_help else ""
    if model != "small_resnet":
        weights = Choice(
            "model.options.weights", None, "derived",
            f"none were given: from scratch; {help_of}model.weights=FILE, or hub, which downloads them",
            KORNBLITH, f"{FEW:,} or more training pictures",
        )  # fmt: skip
        return [Choice("model.name", model, "derived", f"{size} pixels: the smallest of the usual networks first",
                       "He et al. 2016", f"pictures of at most {SMALL} pixels: small_resnet"), *[weights] * is_help]
    source, width = (DIGITS, 32) if size <= 16 else (CLOTHING, 24)
    way = "--set model.name=resnet18 --set model.weights=FILE (or hub, which downloads them)"
    reason = f"{size} pixels, {num:,} to learn from: a small network trains in minutes, from scratch"
    return [
        Choice("model.name", model, "derived", f"{reason}; {help_of}{way}" if is_help else reason,
               f"{source}; {KORNBLITH}" if is_help else source,
               f"an accelerator and pictures above {SMALL} pixels: resnet18"),
        Choice("model.options.width", width, "derived", f"{size} pixels; channels of the first stage, doubled later",
               source),
        Choice("model.options.depth", 1, "default", "blocks per stage", source),
    ]


def _measured(size: int) -> str:
    return DIGITS if size <= SYMBOLS else CLOTHING


def _optimizer(model: str, size: int) -> list[Choice]:
    small = model == "small_resnet"
    return [
        Choice("optimizer.name", "adamw", "default", "works over a wide range of rates",
               "Loshchilov & Hutter 2019, Decoupled Weight Decay Regularization"),
        Choice("optimizer.options.lr", 1e-2 if small else 1e-3, "derived",
               "a small network with BatchNorm bears a high rate under warm-up and cosine" if small
               else "the usual start for adamw", f"{_measured(size)}; {START}" if small else START),
        Choice("optimizer.options.weight_decay", 0.05, "default", "decays weight matrices and filters only",
               f"{_measured(size)}; {START}" if small else START),
        COSINE,
        Choice("schedule.options.warmup", 0.1, "default", "the first steps of Adam are noisy: rise over 10 %", START),
    ]


def _length(facts: Mapping[str, Any], size: int) -> list[Choice]:
    num = max(1, int(facts["num_train"]))
    batch = 16 if num < 500 else 32 if num < 1_000 else 64 if num < 20_000 else 128
    epochs = 40 if num < 1_000 else 15 if size <= SYMBOLS or num >= 50_000 else 20
    steps = -(-num // batch)
    return [
        Choice("train.batch_size", min(batch, num), "derived", f"{num:,} training pictures",
               _measured(size) if batch == 64 else START),
        Choice("train.epochs", epochs, "derived",
               f"{epochs} x {steps:,} = {epochs * steps:,} optimizer steps",
               _measured(size) if batch == 64 and epochs == (15 if size <= SYMBOLS else 20) else START,
               "validation still improves at the end: more; it got worse long before: fewer"),
    ]
