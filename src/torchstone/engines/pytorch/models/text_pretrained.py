"""An encoder from a local transformers folder, with a new head.

Legend of axes: B examples, T tokens, D features, K outputs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from torchstone.core.errors import StoneError, missing_extra
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.weights.read import Given, read_weights
from torchstone.engines.pytorch.weights.report import note_report
from torchstone.engines.pytorch.weights.take_over import take_over

DEEPEST = 1_000  # layers; the deepest published encoders have some hundred, and building costs time for each
Pooling = Literal["mean", "cls"]


class TextPretrained(nn.Module):
    """The encoder's states of a text as one vector, dropout, head."""

    def __init__(self, encoder: nn.Module, width: int, *, pooling: Pooling, dropout: float, num_outputs: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling = pooling
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, num_outputs)
        nn.init.normal_(self.head.weight, std=0.02)  # as BERT's published code starts its classifiers
        nn.init.zeros_(self.head.bias)

    def forward(self, tokens_BT: Tensor, mask_BT: Tensor | None = None) -> Tensor:
        """Logits [B, K] of tokens_BT int64 and mask_BT int64, 1 where there is a token (None: everywhere)."""
        if mask_BT is None:
            mask_BT = torch.ones_like(tokens_BT)
        states_BTD: Tensor = self.encoder(input_ids=tokens_BT, attention_mask=mask_BT).last_hidden_state
        if self.pooling == "cls":
            pooled_BD = states_BTD[:, 0]
        else:
            share_BT1 = mask_BT.unsqueeze(-1).to(states_BTD.dtype)
            pooled_BD = (states_BTD * share_BT1).sum(1) / share_BT1.sum(1).clamp(min=1)
        logits_BK: Tensor = self.head(self.dropout(pooled_BD))
        return logits_BK


def text_pretrained(
    shape: Shape, *, folder: str, weights: str | None = "folder", pooling: Pooling = "mean", dropout: float = 0.1
) -> nn.Module:
    """Encoder of a local transformers folder (BERT, RoBERTa, MiniLM, ModernBERT, …) under a new head.

    folder: holds config.json, tokenizer.json, and for `weights: folder` model.safetensors, whole or in shards; its
    own tokenizer makes the tokens. Nothing is downloaded and no code of the folder is run.
    weights: `folder`; another file, folder or run of the same network; or null, which starts from random weights.
    pooling: `mean` over the tokens (Reimers & Gurevych 2019, Sentence-BERT, table 6), or `cls`, the first token.
    dropout: before the head. Inputs int64 [B, T], tokens and mask; logits [B, K].
    Raises StoneError for a configuration that transformers does not know, needs code of its own, or is no encoder.
    """
    if not 0 <= dropout < 1:
        raise StoneError(f"dropout is {dropout}; it must be from 0 to below 1", where="model.dropout")
    # a run's encoding holds the configuration; before there is one, the folder is asked
    encoder, width = _encoder(shape.config or _config_of(folder), folder)
    model = TextPretrained(encoder, width, pooling=pooling, dropout=dropout, num_outputs=shape.num_outputs)
    if weights is not None:
        _take_over(model, read_weights(folder if weights == "folder" else weights))
    return model


def _config_of(folder: str) -> str:
    from torchstone.engines.pytorch.sources.text_folder import read_config

    return json.dumps(read_config(folder))


def _encoder(config_text: str, folder: str) -> tuple[nn.Module, int]:
    """The network of a configuration with random weights, without a pooler, and D."""
    try:
        from transformers import AutoConfig, AutoModel
    except ImportError as error:
        raise missing_extra("transformers", "transformers", "text_pretrained") from error
    values: dict[str, Any] = json.loads(config_text)
    where = f"model.folder: {folder}"
    kind = str(values.pop("model_type"))
    _refuse_code(values, where)
    if values.get("is_encoder_decoder"):
        raise StoneError(f"{kind} is an encoder with a decoder; classifying needs an encoder", where=where)
    try:
        config = AutoConfig.for_model(kind, **values)
        make: Any = AutoModel.from_config
        encoder: nn.Module = make(config, trust_remote_code=False, dtype=torch.float32)
    except Exception as error:  # unknown types and impossible sizes raise whatever their constructors meet
        reason = (str(error) or type(error).__name__).splitlines()[0][:300]
        raise StoneError(f"transformers cannot build this configuration: {reason}", where=where) from error
    if "pooler" in dict(encoder.named_children()):
        encoder.register_module("pooler", None)  # its output is not read, so it would never be trained
    return encoder, int(config.hidden_size)


def _refuse_code(values: Mapping[str, Any], where: str) -> None:
    """Refuses what would fetch or run code, or another arithmetic, and networks deeper than any that is known."""
    wrong = [key for key in ("auto_map", "quantization_config") if key in values]
    wrong += [key for key in ("attn_implementation", "_attn_implementation") if "/" in str(values.get(key))]
    if wrong:
        raise StoneError(f"its config.json has {wrong[0]}: such models are not loaded", where=where,
                         fix="give a model of transformers' own, in plain floating point")
    depth = values.get("num_hidden_layers", 0)
    if not isinstance(depth, int) or depth > DEEPEST:
        raise StoneError(f"its config.json asks for {depth} layers; at most {DEEPEST} are built", where=where)


def _take_over(model: TextPretrained, given: Given) -> None:
    """From weights of the whole model (a run of ours), or of the encoder, whose every tensor must be there."""
    first = next(iter(model.state_dict()))
    if any(name.endswith(first) for name in given.tensors):
        take_over(model, given)
        return
    report = take_over(model.encoder, given, has_head=False)
    matched = tuple(f"encoder.{name}" for name in report.matched)
    note_report(model, replace(report, matched=matched, fresh=("head.weight", "head.bias")))
