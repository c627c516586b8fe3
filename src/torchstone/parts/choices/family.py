"""What kind of network a model's name stands for."""

from __future__ import annotations

from typing import Literal

Family = Literal["cnn", "transformer", "recurrent", "perceptron"]

_TRANSFORMERS = ("transformer", "vit", "bert", "deit", "swin", "gpt", "mixer", "conformer", "pretrained")
_RECURRENT = ("gru", "lstm", "rnn")


def family_of(model: str, modality: str = "image") -> Family:
    """The family of a model by its name: what it is called after decides, else what it reads.

    Attention: transformer; GRU, LSTM, RNN: recurrent; a table: perceptron; else a network of convolutions. A model
    from elsewhere whose name says nothing counts as what is usual for its modality.
    """
    name = model.lower()
    if any(word in name for word in _TRANSFORMERS):
        return "transformer"
    if any(word in name for word in _RECURRENT):
        return "recurrent"
    return "perceptron" if modality == "table" else "cnn"
