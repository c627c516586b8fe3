"""What the plan chooses for an encoder that was trained before: small rates, warm-up, few epochs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchstone.core.plan import START, Choice
from torchstone.parts.choices.adamw_cosine import COSINE

DEVLIN = "Devlin et al. 2019, BERT, appendix A.3"
BERT_CODE = "BERT's published code, optimization.py"
MOSBACH = "Mosbach et al. 2021, On the Stability of Fine-tuning BERT"  # 20 epochs and 10 %: its configurations for RTE
HU = "Hu et al. 2022, LoRA: the authors' script for RoBERTa on MNLI"
HOWARD = "Howard & Ruder 2018, ULMFiT, section 5"
# 385 texts of 77 classes, 300 to judge by: MiniLM-L6 0.70 (6 epochs; with LoRA 0.75), text_cnn 0.39 (20 epochs).
FEW_BANKING = "measured on banking77 with 5 texts per class, 2026-12-02: 0.70 against 0.39 from scratch"
FEW = 20_000  # training texts; up to here Howard & Ruder measured, and pretraining helped throughout (figure 3)
STEPS = 1_000  # optimizer steps worth making on small sets: Mosbach et al. train RTE's 2,500 pairs for 20 epochs
WAY = "--set model=text_pretrained --set model.folder=DIR"


def help_for_texts(num_train: int) -> tuple[str, str]:
    """Why a pretrained encoder would help with so many training texts and how to say so, and the source.

    Both are empty where there are 20,000 texts or more.
    """
    if num_train >= FEW:
        return "", ""
    return (f"with {num_train:,} training texts a pretrained encoder would help: {WAY}, a local folder in "
            "transformers' layout (config.json, tokenizer.json, model.safetensors)", f"{HOWARD}; {FEW_BANKING}")


def choose_text_pretrained(facts: Mapping[str, Any]) -> list[Choice]:
    """Optimizer, schedule and length of a fine-tuning.

    facts: num_train (texts); adapter where the recipe names one.
    """
    texts = max(int(facts["num_train"]), 1)
    batch = 16 if texts < 10_000 else 32
    steps = -(-texts // batch)
    epochs = min(max(-(-STEPS // steps), 3), 20)
    rate, why, source = (5e-4, "adapters start at zero and bear ten times the rate of the whole encoder", HU)
    if not facts.get("adapter"):
        rate, why, source = 5e-5, "larger steps would spoil what the encoder knows", DEVLIN
    return [
        Choice("optimizer.name", "adamw", "default", "what encoders are fine-tuned with", DEVLIN),
        Choice("optimizer.options.lr", rate, "derived", why, f"{source}; {START}",
               "a small encoder and few texts: up to four times as much"),
        Choice("optimizer.options.weight_decay", 0.01, "default", "as it was trained", BERT_CODE),
        COSINE,
        Choice("schedule.options.warmup", 0.1, "default", "large first steps spoil what the encoder knows", MOSBACH),
        Choice("train.batch_size", min(batch, texts), "derived", f"{texts:,} training texts", DEVLIN),
        Choice("train.epochs", epochs, "derived",
               f"{epochs} x {steps:,} = {epochs * steps:,} optimizer steps: about {STEPS:,}, at least 3 and at most 20 "
               "epochs", f"{DEVLIN} (3); {MOSBACH} (20)",
               "validation still improves at the end: more; it got worse long before: fewer"),
    ]  # fmt: skip
