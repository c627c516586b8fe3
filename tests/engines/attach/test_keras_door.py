"""`ts.keras.Doctor()` in real fits of Keras 3 on the torch backend."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

os.environ["KERAS_BACKEND"] = "torch"
keras = pytest.importorskip("keras")

import torchstone as ts  # noqa: E402
from torchstone.core.errors import StoneError  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
ByClass = keras.losses.SparseCategoricalCrossentropy
Binary = keras.losses.BinaryCrossentropy


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mistakes of ours are raised; and Keras must be on torch."""
    monkeypatch.setenv("TORCHSTONE_STRICT", "1")
    assert keras.backend.backend() == "torch"


def net(activation: str | None = None, num: int = 3) -> Any:
    """A small classifier with BatchNormalization and dropout."""
    layers = keras.layers
    return keras.Sequential([
        layers.Input((6,)), layers.Dense(16, activation="relu"), layers.BatchNormalization(), layers.Dropout(0.1),
        layers.Dense(num, activation=activation),
    ])  # fmt: skip


def frozen(model: Any, *, all_of_it: bool = False) -> Any:
    """The first layer, or everything, is not to learn."""
    (model if all_of_it else model.layers[0]).trainable = False
    return model


def subclassed() -> Any:
    """A model whose graph Keras does not know."""

    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = keras.layers.Dense(16, activation="relu"), keras.layers.Dense(3)

        def call(self, x: Any) -> Any:
            return self.last(self.first(x))

    return Net()


def fit(make: Any, loss: Any, optimizer: Any = "adam", *, doctor: Any = None, epochs: int = 6, num: int = 512,
        **options: Any) -> Any:  # fmt: skip
    """Fits a new model to three classes, or two for one output; returns it."""
    keras.utils.set_random_seed(0)
    draw = np.random.default_rng(0)
    x = draw.standard_normal((640, 6)).astype("float32")
    y = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)
    model = make()
    if isinstance(loss, Binary):
        y = (y > 1).astype("float32")[:, None]
    model.compile(optimizer() if callable(optimizer) else optimizer, loss, metrics=["accuracy"])
    model.fit(x[:num], y[:num], validation_data=(x[512:], y[512:]), epochs=epochs, verbose=0,
              callbacks=[doctor] if doctor else [], **options)  # fmt: skip
    return model


HEALTHY: dict[str, tuple[Any, ...]] = {
    "logits": (net, ByClass(from_logits=True)),
    "softmax": (lambda: net("softmax"), ByClass()),
    "softmax by name": (lambda: net("softmax"), "sparse_categorical_crossentropy"),
    "sigmoid": (lambda: net("sigmoid", 1), Binary()),
    "a cosine": (net, ByClass(from_logits=True),
                 lambda: keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.05, 96), momentum=0.9)),
    "accumulation": (net, ByClass(from_logits=True),
                     lambda: keras.optimizers.Adam(1e-3, gradient_accumulation_steps=4)),
    "clipping and averages": (net, ByClass(from_logits=True),
                              lambda: keras.optimizers.AdamW(1e-3, clipnorm=1.0, use_ema=True)),
    "a frozen layer": (lambda: frozen(net()), ByClass(from_logits=True)),
    "a model of one's own": (subclassed, ByClass(from_logits=True)),
}  # fmt: skip

SICK: dict[str, tuple[tuple[Any, ...], str]] = {
    "softmax, and a loss of logits": ((lambda: net("softmax"), ByClass(from_logits=True)), "RUN401"),
    "sigmoid, and a loss of logits": ((lambda: net("sigmoid", 1), Binary(from_logits=True)), "RUN402"),
    "logits, and a loss of probabilities": ((net, ByClass()), "RUN415"),
    "one logit, and a loss of probabilities": ((lambda: net(None, 1), Binary()), "RUN415"),
    "everything frozen": ((lambda: frozen(net(), all_of_it=True), ByClass(from_logits=True)), "RUN335"),
    "a rate far too high": ((net, ByClass(from_logits=True), lambda: keras.optimizers.SGD(1e8)), "RUN601"),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_fit_goes_through_without_a_word(name: str) -> None:
    doctor = ts.keras.Doctor(is_quiet=True)
    fit(*HEALTHY[name], doctor=doctor)
    assert doctor.findings == []
    assert doctor.rows[-1]["steps"] == 96


@pytest.mark.parametrize("name", SICK)
def test_a_fault_is_named(name: str) -> None:
    call, code = SICK[name]
    doctor = ts.keras.Doctor(is_quiet=True)
    fit(*call, doctor=doctor)
    assert [finding.code for finding in doctor.findings][:1] == [code]


def test_a_net_that_learns_by_heart_is_seen_by_its_validation() -> None:
    doctor = ts.keras.Doctor(is_quiet=True)

    def large() -> Any:
        layers = keras.layers
        return keras.Sequential([layers.Input((6,)), layers.Dense(256, activation="relu"), layers.Dense(3)])

    fit(large, ByClass(from_logits=True), lambda: keras.optimizers.Adam(0.02), doctor=doctor, epochs=60, num=48)
    assert [finding.code for finding in doctor.findings] == ["RUN606"]


def test_each_batch_has_its_own_loss_and_the_true_norm_of_its_gradients() -> None:
    class Reference(keras.callbacks.Callback):
        """Reads gradients beside the doctor, and each batch's loss by itself."""

        norms: list[float] = []  # noqa: RUF012
        losses: list[float] = []  # noqa: RUF012

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            grads = [weight.value.grad.numpy() for weight in self.model.trainable_weights]
            self.norms.append(float(np.sqrt(sum((grad.astype("float64") ** 2).sum() for grad in grads))))
            whole = 1 if batch == 0 else batch + 1
            sums = logs["loss"] * whole
            self.losses.append(sums if batch == 0 else sums - self.sums)
            self.sums = sums

    reference, doctor = Reference(), ts.keras.Doctor(is_quiet=True)
    keras.utils.set_random_seed(0)
    draw = np.random.default_rng(0)
    x = draw.standard_normal((128, 6)).astype("float32")
    model = net()
    model.compile("adam", ByClass(from_logits=True))
    model.fit(x, (x[:, 0] > 0).astype(int), epochs=3, verbose=0, callbacks=[doctor, reference])
    steps = [row for row in doctor.rows if row["event"] == "step"]
    assert [row["loss"] for row in steps] == pytest.approx(reference.losses, rel=1e-4)
    norms = [(row["grad_norm"], norm) for row, norm in zip(steps, reference.norms, strict=True) if "grad_norm" in row]
    assert len(norms) == 2
    assert [one for one, _ in norms] == pytest.approx([other for _, other in norms], rel=1e-5)


def test_the_weights_are_the_same_with_and_without() -> None:
    loss = ByClass(from_logits=True)
    alone, watched = fit(net, loss), fit(net, loss, doctor=ts.keras.Doctor(is_quiet=True))
    pairs = zip(alone.get_weights(), watched.get_weights(), strict=True)
    assert all(np.array_equal(one, other) for one, other in pairs)


def test_another_backend_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keras.backend, "backend", lambda: "tensorflow")
    with pytest.raises(StoneError, match="Keras runs on tensorflow") as caught:
        ts.keras.Doctor()
    assert "KERAS_BACKEND=torch" in str(caught.value)
