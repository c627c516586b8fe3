"""Source rules of Keras: the ways in which models are written, and near-misses."""

from __future__ import annotations

import pytest

from torchstone.core.catalog import all_rules
from torchstone.parts.source.read import sketch

RULES = [rule for rule in all_rules("torchstone.rules.source") if rule.code in ("COD215", "COD216", "COD217")]
ADDED = """
import tensorflow as tf
from tensorflow.keras.layers import Dense, Activation
from tensorflow.keras.models import Sequential
model = Sequential()
model.add(Dense(16, activation="relu"))
model.add({last})
model.compile(optimizer="adam", loss={loss})
"""
FUNCTIONAL = """
import keras
from keras import layers, losses
def make():
    inputs = keras.Input((4,))
    x = layers.Dense(8, "relu")(inputs)
    outputs = {last}(x)
    return keras.Model(inputs, outputs)
net = make()
net.compile(loss={loss}, optimizer=keras.optimizers.Adam(1e-3))
"""


def codes(text):
    """The codes that are found in a text."""
    source = sketch(text)
    return [finding.code for rule in RULES for finding in rule.check(source)]


@pytest.mark.parametrize(
    ("last", "loss", "found"),
    [
        ("Dense(3)", '"categorical_crossentropy"', ["COD215"]),
        ("Dense(3, activation='linear')", "'sparse_categorical_crossentropy'", ["COD215"]),
        ("Dense(1, None)", "tf.keras.losses.BinaryCrossentropy()", ["COD215"]),
        ("Dense(3)", "tf.keras.losses.CategoricalCrossentropy(from_logits=True)", []),
        ("Dense(3, activation=tf.nn.softmax)", "tf.keras.losses.CategoricalCrossentropy(from_logits=True)", ["COD216"]),
        ("Activation('softmax')", "tf.keras.losses.CategoricalCrossentropy(from_logits=True)", ["COD216"]),
        ("Activation('softmax')", "'categorical_crossentropy'", []),
        ("Dense(1, activation='softmax')", "'binary_crossentropy'", ["COD217"]),
        ("Dense(1)", "'mse'", []),
        ("Dense(1, activation=chosen)", "'binary_crossentropy'", []),
        ("Dense(3)", "tf.keras.losses.CategoricalCrossentropy(from_logits=chosen)", []),
        ("Dense(3, **options)", "'categorical_crossentropy'", []),
        ("Head()", "'categorical_crossentropy'", []),
    ],
)
def test_a_sequential_model_that_is_built_layer_by_layer(last, loss, found):
    assert codes(ADDED.format(last=last, loss=loss)) == found


@pytest.mark.parametrize(
    ("last", "loss", "found"),
    [
        ("layers.Dense(1)", "losses.BinaryCrossentropy()", ["COD215"]),
        ("layers.Dense(1)", "losses.BinaryCrossentropy(True)", []),
        ("layers.Dense(1, 'sigmoid')", "losses.BinaryCrossentropy(True)", ["COD216"]),
        ("layers.Softmax()", "losses.SparseCategoricalCrossentropy(from_logits=True)", ["COD216"]),
        ("layers.Dense(1, activation='softmax')", "losses.MeanSquaredError()", []),
    ],
)
def test_a_functional_model_out_of_a_function(last, loss, found):
    assert codes(FUNCTIONAL.format(last=last, loss=loss)) == found


def test_a_layer_that_is_added_after_compiling_is_not_the_last_one_then():
    text = ADDED.format(last="Dense(3, activation='softmax')", loss="'categorical_crossentropy'")
    assert codes(text + "model.add(Dense(3))\n") == []


def test_compile_of_something_else_is_left_alone():
    assert codes("import re\npattern = re.compile('a', loss='categorical_crossentropy')\n") == []
    assert codes("import torch\nmodel = torch.nn.Sequential(torch.nn.Linear(4, 3))\nmodel.compile()\n") == []
