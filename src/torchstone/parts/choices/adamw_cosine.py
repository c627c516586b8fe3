"""What the plans for texts and tables choose alike: AdamW's decay, and a cosine after a short warm-up."""

from __future__ import annotations

from torchstone.core.plan import START, Choice

COSINE = Choice("schedule.name", "cosine", "default", "falls to zero, so that the last steps settle",
                "Loshchilov & Hutter 2017")  # fmt: skip
ADAMW_COSINE = (
    Choice("optimizer.options.weight_decay", 0.01, "default", "AdamW's usual decay", "torch.optim.AdamW, its default"),
    COSINE,
    Choice("schedule.options.warmup", 0.05, "default",
           "the first steps of AdamW have poor estimates of the gradient's size", START),
)  # fmt: skip
