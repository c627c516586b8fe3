"""What the plan chooses for texts: vocabulary, model, optimizer, and how long to train."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from torchstone.core.plan import START, Choice
from torchstone.parts.choices.adamw_cosine import ADAMW_COSINE
from torchstone.parts.choices.text_pretrained import choose_text_pretrained, help_for_texts
from torchstone.parts.choices.which_model import LONG_TEXT, which_model

BANKING = "measured on banking77, 2026-12-01"
ENOUGH_STEPS = 1_600  # optimizer steps after which accuracy on banking77 had stopped rising
SPLIT = 1.25  # tokens of byte-pair encoding per word: rare words come in pieces
WORD = re.compile(r"\w+|[^\w\s]+")


def measure_texts(texts: Iterable[str | None]) -> dict[str, int]:
    """The facts about lengths that `choose_text` wants: words_p50 and words_p99, words and marks per text.

    A word of more than 12 letters counts as several of 8: some scripts put no spaces between words.
    """
    lengths = sorted(sum(_pieces(word) for word in WORD.findall(text or "")) for text in texts)
    if not lengths:
        return {"words_p50": 0, "words_p99": 0}
    return {f"words_p{p}": lengths[math.ceil((len(lengths) - 1) * p / 100)] for p in (50, 99)}


def _pieces(word: str) -> int:
    return 1 if len(word) <= 12 else math.ceil(len(word) / 8)


def choose_text(facts: Mapping[str, Any]) -> list[Choice]:
    """Tokens, model, optimizer, schedule and length of a training on texts, each with its reason.

    facts: num_train (texts), words_p99 (see `measure_texts`), has_accelerator, and model where the user names one:
    another model than the planned one keeps its own options.
    """
    if facts.get("model") == "text_pretrained":  # which has its own tokens
        return [*_tokens(facts)[-1:], *choose_text_pretrained(facts)]
    return [*_tokens(facts), *_model(facts), *_optimizer(facts), *_length(facts)]


def _tokens(facts: Mapping[str, Any]) -> list[Choice]:
    words = facts["words_p99"]
    length = min(max(math.ceil(words * SPLIT / 8) * 8, 16), LONG_TEXT)
    vocabulary = 8_000 if facts["num_train"] < 50_000 else 16_000
    return [
        Choice("text.vocabulary", vocabulary, "derived",
               f"at most so many for {facts['num_train']:,} training texts: frequent words stay whole, rare ones "
               "come in pieces",
               "Sennrich et al. 2016"),
        Choice("text.lowercase", True, "default", "halves the forms of a word; capitals rarely tell topics apart",
               changes_if="names or shouting matter for the label"),
        Choice("text.max_length", length, "derived",
               f"99 % of the training texts have at most {words} words; {SPLIT} tokens per word, "
               f"rounded up to a multiple of 8, between 16 and {LONG_TEXT}", START,
               changes_if="the label depends on the end of long texts"),
    ]


def _model(facts: Mapping[str, Any]) -> list[Choice]:
    case = which_model({**facts, "modality": "text"})
    if facts.get("model", case.choice) != case.choice:
        return []
    told, source = help_for_texts(facts["num_train"])
    return [
        Choice("model.name", case.choice, "derived",
               f"{facts['num_train']:,} texts to learn from, no pretrained weights: {case.reason}"
               + (f"; {told}" if told else ""),
               f"Kim 2014; {source}" if source else case.source, changes_if=case.changes_if),
        Choice("model.options.embedding", 128, "default", "features of a token", BANKING),
        Choice("model.options.channels", 128, "default", "filters of each phrase width", BANKING),
        Choice("model.options.dropout", 0.5, "default", "of the pooled features", "Kim 2014, section 3.1"),
        Choice("model.options.word_dropout", 0.1, "default",
               "words go unread in training, which also teaches what an unknown one is worth",
               "Iyyer et al. 2015, section 3.1; the share: " + START),
    ]


def _optimizer(facts: Mapping[str, Any]) -> list[Choice]:
    # an LSTM on banking77: accuracy 0.70 after 8 epochs at 1e-3, 0.87 after 5 at 3e-3 (validation, one run each);
    # a GRU (0.85) and a transformer (0.87) reached what they could at 1e-3
    is_slow = facts.get("model") == "text_lstm"
    rate, why = (3e-3, "LSTMs learn slowly at 0.001") if is_slow else (1e-3, "AdamW's usual rate")
    return [
        Choice("optimizer.name", "adamw", "default", "rare words need their own step size", "Kingma & Ba 2015"),
        Choice("optimizer.options.lr", rate, "default", why, f"{BANKING}; {START}"),
        *ADAMW_COSINE,
    ]


def _length(facts: Mapping[str, Any]) -> list[Choice]:
    texts = max(facts["num_train"], 1)
    batch = 16 if texts < 1_000 else 64 if texts < 50_000 else 128
    if facts.get("has_accelerator") and texts >= 50_000:
        batch = 256
    steps = -(-texts // batch)
    epochs = min(max(-(-ENOUGH_STEPS // steps), 3), 40)
    return [
        Choice("train.batch_size", batch, "derived", f"{texts:,} training texts", f"{BANKING} (64); else: {START}"),
        Choice("train.epochs", epochs, "derived",
               f"{epochs} x {steps:,} = {epochs * steps:,} optimizer steps; about {ENOUGH_STEPS:,} were enough, "
               "at least 3 and at most 40 epochs", BANKING,
               changes_if="validation still improves at the end: more; it got worse long before: fewer"),
    ]
