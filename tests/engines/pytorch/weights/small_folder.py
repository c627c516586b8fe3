"""A tiny network in transformers' layout, made on the spot: config.json, tokenizer.json, model.safetensors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "money", "cash", "coins", "bank", "food", "bread", "soup", "apple",
         "sport", "ball", "goal", "race", "number", "##s", "is"]  # fmt: skip
CONFIG = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
          "max_position_embeddings": 32, "vocab_size": len(WORDS), "pad_token_id": 0}  # fmt: skip


def save_tokenizer(folder: Path) -> None:
    """A word-piece tokenizer of twenty words, saved with a padding and a truncation that must not be used."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_padding(length=20)
    tokenizer.enable_truncation(3)
    tokenizer.save(str(folder / "tokenizer.json"))


def made(folder: Path, kind: str = "bert", **changes: Any) -> nn.Module:
    """Writes a folder and gives the network of transformers that it holds."""
    transformers = pytest.importorskip("transformers")
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(5)
    config = transformers.AutoConfig.for_model(kind, **{**CONFIG, **changes})
    network: nn.Module = transformers.AutoModel.from_config(config)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))  # no two layers alike, no norm at its start
    network.save_pretrained(folder)  # type: ignore[operator]
    save_tokenizer(folder)
    return network.eval()


def change_config(folder: Path, **values: Any) -> None:
    """Lays fields over config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
