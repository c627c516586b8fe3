"""Which optimizer: a table by the family of the model and by condition, and the plan's choice from it."""

from __future__ import annotations

import math
from typing import Any, Literal

from torchstone.core.errors import StoneError
from torchstone.core.plan import START, Choice
from torchstone.parts.choices.case import Case, Facts, first_that_holds

# Examples of one step above which plain rates may diverge. Starting point, ours: Goyal et al. 2017 hold ResNet-50's
# accuracy up to 8,192 with warm-up; You et al. report that others fell short on BERT beyond 8,192.
LARGE_BATCH = 4_096
# Goyal et al. 2017, section 5.1, train ImageNet for 90 epochs. That AdamW's lead is gone by then: starting point, ours.
LONG_RUN = 90  # epochs
ENOUGH = 20_000  # training pictures; below, our measured defaults for AdamW hold
GOYAL = "Goyal et al. 2017, Accurate, Large Minibatch SGD"
YOU = "You et al. 2020, Large Batch Optimization for Deep Learning"
NADO = "Nado et al. 2021, A Large Batch Optimizer Reality Check"
ADAMW = "Loshchilov & Hutter 2019, Decoupled Weight Decay Regularization"


def _short(facts: Facts) -> bool:
    return bool(facts.get("is_memory_short"))


def _is_long_cnn(facts: Facts) -> bool:
    is_scratch = facts.get("family") == "cnn" and facts.get("modality") == "image" and not facts.get("is_pretrained")
    return is_scratch and facts.get("epochs", 0) >= LONG_RUN and facts.get("num_train", 0) >= ENOUGH


def _sgd(facts: Facts) -> dict[str, Any]:
    rate = 0.1 * facts["batch_size"] / 256
    return {"lr": float(f"{rate:.2g}"), "momentum": 0.9, "nesterov": True, "weight_decay": 1e-4}


def _lamb(facts: Facts) -> dict[str, Any]:
    return {"lr": float(f"{5e-3 * math.sqrt(facts['batch_size'] / 32_768):.2g}"), "weight_decay": 0.01}


def _lion(facts: Facts) -> dict[str, Any]:
    return {"lr": 1e-4, "weight_decay": 0.1}


def _adversarial(facts: Facts) -> dict[str, Any]:
    return {"lr": 2e-4, "betas": [0.5, 0.999]}


OPTIMIZERS: tuple[Case, ...] = (
    Case("adversarial", "two networks that train against each other", lambda f: f.get("family") == "adversarial",
         "adam", "the other network moves all the time: a long memory of the gradient makes them swing",
         "Radford et al. 2016, DCGAN, section 4", "beta1 0.5, lr 0.0002", _adversarial),
    Case("any", "memory is short, on a CUDA device with bitsandbytes",
         lambda f: _short(f) and f.get("device") == "cuda" and bool(f.get("has_bitsandbytes")),
         "adamw_8bit", "two bytes of state for each weight instead of eight", "Dettmers et al. 2022, 8-bit Optimizers",
         changes_if="memory is not short: adamw"),
    Case("transformer", "memory is short", lambda f: _short(f) and f.get("family") == "transformer",
         "adafactor", "keeps row and column means instead of two numbers for each weight",
         "Shazeer & Stern 2018; for transformers: Raffel et al. 2020, T5", changes_if="memory is not short: adamw"),
    Case("any", "memory is short", _short,
         "lion", "keeps one number for each weight instead of two", "Chen et al. 2023, Symbolic Discovery of "
         "Optimization Algorithms, section 5: a rate 3 to 10 times smaller than AdamW's, a decay as much larger",
         "lr a tenth of AdamW's, weight decay ten times", _lion, "memory is not short: adamw"),
    Case("any", f"more than {LARGE_BATCH:,} examples a step", lambda f: f.get("batch_size", 0) > LARGE_BATCH,
         "lamb", "each tensor's step gets the length of its weights, so that high rates do not throw single layers",
         YOU, "lr 0.005 x sqrt(batch / 32,768)", _lamb,
         f"{LARGE_BATCH:,} examples a step or fewer; a rate tuned for this batch: sgd or adamw do as well ({NADO})"),
    Case("cnn", f"pictures, from scratch, {LONG_RUN} epochs or more, {ENOUGH:,} pictures or more", _is_long_cnn,
         "sgd", "on long runs momentum ends at better networks of convolutions than adaptive steps",
         f"Wilson et al. 2017, The Marginal Value of Adaptive Gradient Methods; {GOYAL}, section 5.1",
         "momentum 0.9, Nesterov, lr 0.1 x batch / 256, weight decay 0.0001, cosine after 5 epochs of warm-up", _sgd,
         f"fewer than {LONG_RUN} epochs or pretrained weights: adamw"),
    Case("transformer", "pretrained", lambda f: f.get("family") == "transformer" and bool(f.get("is_pretrained")),
         "adamw", "rates of their own for each weight: gradients of attention differ by orders of magnitude",
         f"{ADAMW}; warm-up: Mosbach et al. 2021, On the Stability of Fine-tuning BERT", "warm-up over 10 %, as there",
         changes_if="memory is short: adafactor"),
    Case("transformer", "else", lambda f: f.get("family") == "transformer",
         "adamw", "rates of their own for each weight: gradients of attention differ by orders of magnitude",
         f"{ADAMW}; Zhang et al. 2020, Why are Adaptive Methods Good for Attention Models?", "warm-up over 5 %",
         changes_if="memory is short: adafactor; hidden matrices on a long run: muon"),
    Case("recurrent", "else", lambda f: f.get("family") == "recurrent",
         "adamw", "rare words and long products of weights need steps of their own", "Kingma & Ba 2015",
         "gradients clipped at 1.0", changes_if="memory is short: lion"),
    Case("cnn", "else", lambda f: f.get("family") == "cnn",
         "adamw", "works over a wide range of rates; on short runs it is ahead of momentum", ADAMW,
         changes_if=f"from scratch for {LONG_RUN} epochs or more: sgd with momentum"),
    Case("perceptron", "else", lambda f: f.get("family") == "perceptron",
         "adamw", "what studies of networks on tables use",
         "Gorishniy et al. 2021, Revisiting Deep Learning Models for Tabular Data",
         changes_if=f"more than {LARGE_BATCH:,} examples a step: lamb"),
)  # fmt: skip

# What schedule_free is to run under: its average stands for a falling rate.
FLAT = (
    Choice("schedule.name", "constant", "derived", "schedule_free averages instead of letting the rate fall",
           "Defazio et al. 2024, The Road Less Scheduled"),
    Choice("schedule.options.warmup", 0.05, "derived", "its first steps are as noisy as Adam's", START),
)  # fmt: skip


def families() -> list[str]:
    """What `which_optimizer` knows: families of models; "adversarial" (GAN) has no task in torchstone yet."""
    return list(dict.fromkeys(case.kind for case in OPTIMIZERS if case.kind != "any"))


def which_optimizer(facts: Facts) -> Case:
    """The optimizer for a model, by the table `OPTIMIZERS`.

    facts: family (one of `families()`), and what the conditions ask for: modality, is_pretrained, epochs, num_train,
    batch_size, is_memory_short, device, has_bitsandbytes. Raises StoneError for an unknown family.
    """
    case = first_that_holds(OPTIMIZERS, facts)
    if case is None:
        raise StoneError(f"no optimizer is known for '{facts.get('family')}'", fix=f"one of: {', '.join(families())}")
    return case


def choose_optimizer(facts: Facts) -> list[Choice]:
    """The optimizer of a plan; options and warm-up where it is another than AdamW, whose rates each modality knows.

    facts: as `which_optimizer`. Nothing where the user names one (facts["optimizer"]), but for the schedule that
    schedule_free wants.
    """
    if facts.get("optimizer"):
        return list(FLAT) if facts["optimizer"] == "schedule_free" else []
    case = which_optimizer(facts)
    origin: Literal["derived", "default"] = "derived" if case.condition != "else" else "default"
    named = Choice("optimizer.name", case.choice, origin, f"{_condition(case)}{case.reason}", case.source,
                   case.changes_if)
    options = [
        Choice(f"optimizer.options.{name}", value, "derived", case.options_say, f"{case.source}; {START}")
        for name, value in case.options(facts).items()
    ]
    return [named, *options, *_warmup(case, facts)]


def _condition(case: Case) -> str:
    return "" if case.condition == "else" else f"{case.condition}: "


def _warmup(case: Case, facts: Facts) -> list[Choice]:
    """Warm-up where the row asks for another than the modality's own."""
    if case.choice == "sgd":
        share = float(f"{5 / facts['epochs']:.2g}")
        return [Choice("schedule.options.warmup", share, "derived", "5 epochs", f"{GOYAL}, section 2.2")]
    if case.kind == "transformer" and case.condition == "pretrained":
        return [Choice("schedule.options.warmup", 0.1, "derived", "pretrained weights are soon spoilt by large steps",
                       "Mosbach et al. 2021, On the Stability of Fine-tuning BERT, and its published configurations")]
    return []


CLIPPING: tuple[Case, ...] = (
    Case("recurrent", "else", lambda f: f.get("family") == "recurrent", "1.0",
         "gradients through time grow by products: single steps would be wild", f"Pascanu et al. 2013; 1.0: {START}"),
    Case("transformer", "else", lambda f: f.get("family") == "transformer", "1.0",
         "attention has rare, very large gradients", "Zhang et al. 2020; 1.0 as in BERT's published "
         "code (optimization.py) and for GPT-3 (Brown et al. 2020, appendix B)"),
    Case("any", "else", lambda f: True, "1.0", "guards against single wild steps; most steps are below it", START),
)  # fmt: skip


def choose_clipping(facts: Facts) -> Choice:
    """The largest norm of a gradient (train.clip_norm). facts: family."""
    case = first_that_holds(CLIPPING, facts)
    assert case is not None  # the last row always holds
    origin: Literal["derived", "default"] = "default" if case.kind == "any" else "derived"
    return Choice("train.clip_norm", float(case.choice), origin, case.reason, case.source,
                  "clipped_norm is below grad_norm at most steps: a smaller rate, or a larger clip_norm")
