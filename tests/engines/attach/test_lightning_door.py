"""`ts.lightning.Doctor()` in real Lightning fits, and `ts.watch` around loops of Fabric."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

import torchstone as ts

L = pytest.importorskip("lightning")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mistakes of ours are raised."""
    monkeypatch.setenv("TORCHSTONE_STRICT", "1")


def loaders(shuffle: bool = True, num: int = 384) -> tuple[Any, Any]:
    """A training and a validation loader: three classes, told apart by two of six numbers."""
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(num + 96, 6, generator=draw)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    return (DataLoader(TensorDataset(x[:num], y[:num]), 32, shuffle=shuffle),
            DataLoader(TensorDataset(x[num:], y[num:]), 32))  # fmt: skip


class Plain(L.LightningModule):
    """The classifier that most people begin with; derived classes make one thing different."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(32, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))

    def training_step(self, batch: Any, index: int) -> Any:
        loss = F.cross_entropy(self(batch[0]), batch[1])
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        logits = self(batch[0])
        self.log("val_loss", F.cross_entropy(logits, batch[1]))
        self.log("val_acc", (logits.argmax(1) == batch[1]).float().mean())

    def configure_optimizers(self) -> Any:
        return torch.optim.AdamW(self.parameters(), 3e-3)


class Scheduled(Plain):
    def configure_optimizers(self) -> Any:
        optimizer = super().configure_optimizers()
        total = int(self.trainer.estimated_stepping_batches)
        schedule = lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=total)
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]


class Plateau(Plain):
    def configure_optimizers(self) -> Any:
        optimizer = super().configure_optimizers()
        plateau = lr_scheduler.ReduceLROnPlateau(optimizer)
        return {"optimizer": optimizer, "lr_scheduler": plateau, "monitor": "val_loss"}


class Frozen(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.body.requires_grad_(False)
        self.body.eval()

    def on_train_epoch_start(self) -> None:
        self.body.eval()

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.head.parameters(), 0.1, momentum=0.9)


class Manual(Plain):
    """Manual optimization, two micro-batches per step."""

    clears = True

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch: Any, index: int) -> None:
        optimizer = self.optimizers()
        self.manual_backward(F.cross_entropy(self(batch[0]), batch[1]))
        self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        optimizer.step()
        if self.clears:
            optimizer.zero_grad()


class Gan(L.LightningModule):
    """A generator and a discriminator in turn, as in Lightning's own example."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 6))
        self.discriminator = nn.Sequential(nn.Linear(6, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def training_step(self, batch: Any, index: int) -> None:
        of_generator, of_discriminator = self.optimizers()
        real, num = batch[0], len(batch[0])
        ones, zeros = torch.ones(num, 1), torch.zeros(num, 1)
        self.toggle_optimizer(of_generator)
        loss = F.binary_cross_entropy_with_logits(self.discriminator(self.generator(torch.randn(num, 4))), ones)
        self.manual_backward(loss)
        of_generator.step()
        of_generator.zero_grad()
        self.untoggle_optimizer(of_generator)
        self.toggle_optimizer(of_discriminator)
        fake = self.generator(torch.randn(num, 4)).detach()
        loss = F.binary_cross_entropy_with_logits(self.discriminator(real), ones)
        loss = loss + F.binary_cross_entropy_with_logits(self.discriminator(fake), zeros)
        self.manual_backward(loss / 2)
        of_discriminator.step()
        of_discriminator.zero_grad()
        self.untoggle_optimizer(of_discriminator)

    def configure_optimizers(self) -> Any:
        return [torch.optim.Adam(part.parameters(), 2e-4, betas=(0.5, 0.999))
                for part in (self.generator, self.discriminator)]  # fmt: skip


class Autoencoder(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(32, 6)

    def training_step(self, batch: Any, index: int) -> Any:
        return F.mse_loss(self(batch[0]), batch[0])

    def validation_step(self, batch: Any, index: int) -> None:
        self.log("val_loss", F.mse_loss(self(batch[0]), batch[0]))


HEALTHY: dict[str, tuple[type, dict[str, Any]]] = {
    "plain": (Plain, {}),
    "accumulation": (Plain, {"accumulate_grad_batches": 4}),
    "clipping and checkpoints": (Plain, {"gradient_clip_val": 1.0, "enable_checkpointing": True}),
    "bf16": (Plain, {"precision": "bf16-mixed"}),
    "one cycle per step": (Scheduled, {}),
    "plateau": (Plateau, {}),
    "frozen body": (Frozen, {}),
    "manual optimization": (Manual, {}),
    "a GAN": (Gan, {"limit_val_batches": 0}),
    "an autoencoder": (Autoencoder, {"val_check_interval": 0.5}),
    "averaged weights": (Plain, {"callbacks": [L.pytorch.callbacks.StochasticWeightAveraging(1e-3, 0.6)]}),
}


class Softmax(Plain):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).softmax(1)


class HeadAlone(Plain):
    def configure_optimizers(self) -> Any:
        return torch.optim.AdamW(self.body.parameters(), 3e-3)


class NewHead(Plain):
    def on_fit_start(self) -> None:
        self.head = nn.Linear(32, 3)


class NeverClears(Manual):
    clears = False


class ValidatesInTrainMode(Plain):
    def on_validation_model_eval(self) -> None:
        """Leaves the mode as it is."""


class Broadcast(Plain):
    def training_step(self, batch: Any, index: int) -> Any:
        return F.mse_loss(self(batch[0])[:, :1], batch[0][:, 0])


class PerStepTooLong(Plain):
    def configure_optimizers(self) -> Any:
        optimizer = super().configure_optimizers()
        return [optimizer], [{"scheduler": lr_scheduler.CosineAnnealingLR(optimizer, 4), "interval": "step"}]


class LeftInEval(Plain):
    def on_train_epoch_start(self) -> None:
        if self.current_epoch > 0:
            self.eval()


class Detached(Plain):
    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).detach())


SICK: dict[str, tuple[type, dict[str, Any], str]] = {
    "softmax before cross-entropy": (Softmax, {}, "RUN401"),
    "the head is in no optimizer": (HeadAlone, {}, "RUN307"),
    "the head was replaced after the optimizer": (NewHead, {}, "RUN307"),
    "manual optimization without zero_grad": (NeverClears, {}, "RUN301"),
    "validation in train mode": (ValidatesInTrainMode, {}, "RUN322"),
    "a column against a row": (Broadcast, {}, "RUN404"),
    "a schedule of epochs, stepped per batch": (PerStepTooLong, {}, "RUN319"),
    "eval mode from the second epoch on": (LeftInEval, {}, "RUN321"),
    "the body is cut off": (Detached, {}, "RUN306"),
}


def fit(module: type, folder: Path, doctor: Any = None, shuffle: bool = True, **options: Any) -> Any:
    """Fits one of the modules for four epochs; returns it."""
    L.seed_everything(0, verbose=False)
    callbacks = [*options.pop("callbacks", []), *([doctor] if doctor is not None else [])]
    quiet = {"enable_progress_bar": False, "logger": False, "enable_model_summary": False}
    options = {"enable_checkpointing": False, "max_epochs": 4, **quiet, **options}
    trainer = L.Trainer(accelerator="cpu", devices=1, default_root_dir=folder, callbacks=callbacks, **options)
    model = module()
    trainer.fit(model, *loaders(shuffle))
    return model


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_fit_goes_through_without_a_word(name: str, tmp_path: Path) -> None:
    module, options = HEALTHY[name]
    doctor = ts.lightning.Doctor(is_quiet=True)
    fit(module, tmp_path, doctor, **options)
    assert doctor.findings == []
    assert doctor.rows[-1]["steps"] > 10


@pytest.mark.parametrize("name", SICK)
def test_a_fault_inside_a_module_is_named(name: str, tmp_path: Path) -> None:
    module, options, code = SICK[name]
    doctor = ts.lightning.Doctor(is_quiet=True)
    fit(module, tmp_path, doctor, **options)
    assert [finding.code for finding in doctor.findings][:1] == [code]


def test_the_weights_are_the_same_with_and_without(tmp_path: Path) -> None:
    alone, watched = fit(Scheduled, tmp_path), fit(Scheduled, tmp_path, ts.lightning.Doctor(is_quiet=True))
    pairs = zip(alone.state_dict().values(), watched.state_dict().values(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
