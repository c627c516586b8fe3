"""`ts.hf.Doctor()` in real trainings of transformers.Trainer, on tiny models made from a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import Dataset

import torchstone as ts

transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mistakes of ours are raised."""
    monkeypatch.setenv("TORCHSTONE_STRICT", "1")


class Sentences(Dataset):
    """Rows of 12 tokens; the label says whether the first is above 30. is_text: the tokens are the labels."""

    def __init__(self, start: int, end: int, *, is_text: bool = False) -> None:
        draw = torch.Generator().manual_seed(3)
        self._ids = torch.randint(1, 60, (320, 12), generator=draw)[start:end]
        if is_text:  # each token follows from the one before
            for column in range(1, 12):
                self._ids[:, column] = (self._ids[:, column - 1] * 7 + 3) % 59 + 1
        self._labels = self._ids if is_text else (self._ids[:, 0] > 30).long()

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        ids = self._ids[index]
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": self._labels[index]}


def bert() -> Any:
    """A classifier of 2 layers."""
    config = transformers.BertConfig(vocab_size=60, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                                     intermediate_size=32, max_position_embeddings=16)  # fmt: skip
    return transformers.BertForSequenceClassification(config)


def frozen_bert() -> Any:
    """Only the head is to learn; the body is not as it was made."""
    model = bert()
    with torch.no_grad():
        for parameter in model.bert.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    model.bert.requires_grad_(False)
    return model


def gpt() -> Any:
    """A language model of 1 layer."""
    config = transformers.GPT2Config(vocab_size=60, n_embd=16, n_layer=1, n_head=2, n_positions=16)
    return transformers.GPT2LMHeadModel(config)


def train(folder: Path, doctor: Any, *, make: Any = bert, trainer_class: type | None = None, seen: Any = None,
          optimizer_of: Any = None, more: tuple[Any, ...] = (), **options: Any) -> Any:  # fmt: skip
    """Two epochs over 256 rows; returns the model."""
    transformers.set_seed(0)
    model = make()
    options = {"learning_rate": 2e-3, "eval_strategy": "epoch", "save_strategy": "no", **options}
    arguments = transformers.TrainingArguments(
        str(folder), num_train_epochs=2, per_device_train_batch_size=16, per_device_eval_batch_size=32, report_to=[],
        use_cpu=True, disable_tqdm=True, logging_strategy="no", **options,
    )  # fmt: skip
    is_text = make is gpt
    optimizers = (optimizer_of(model), None) if optimizer_of else (None, None)
    trainer = (trainer_class or transformers.Trainer)(
        model=model, args=arguments, train_dataset=Sentences(0, 256, is_text=is_text), optimizers=optimizers,
        eval_dataset=Sentences(256, 320, is_text=is_text), callbacks=[*more, *([doctor] if doctor else [])],
    )  # fmt: skip
    trainer.train()
    return model


HEALTHY: dict[str, dict[str, Any]] = {
    "plain": {},
    "accumulation": {"gradient_accumulation_steps": 4},
    "bf16": {"bf16": True},
    "checkpoints and a cosine with warm-up": {
        "save_strategy": "epoch", "lr_scheduler_type": "cosine", "warmup_steps": 5,
    },
    "gradient checkpointing": {"gradient_checkpointing": True},
    "label smoothing": {"label_smoothing_factor": 0.1},
    "a frozen body": {"make": frozen_bert},
    "a language model": {"make": gpt, "max_grad_norm": 0.5},
    "workers": {"dataloader_num_workers": 2},
}


class Softmax(transformers.Trainer):
    """A loss of one's own that applies softmax first."""

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = F.cross_entropy(outputs.logits.softmax(-1), labels)
        return (loss, outputs) if return_outputs else loss


class Unshifted(transformers.Trainer):
    """A language model that is asked for the token it was given."""

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **kwargs: Any) -> Any:
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = F.cross_entropy(outputs.logits.reshape(-1, 60), labels.reshape(-1))
        return (loss, outputs) if return_outputs else loss


def old_head(model: Any) -> Any:
    """An optimizer that is built before the head is replaced."""
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    model.classifier = nn.Linear(16, 2)
    return optimizer


class StepsTheScheduleToo(transformers.TrainerCallback):
    """What the trainer does already."""

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        kwargs["lr_scheduler"].step()


SICK: dict[str, tuple[dict[str, Any], str]] = {
    "softmax before cross-entropy": ({"trainer_class": Softmax}, "RUN401"),
    "labels that are the input": ({"trainer_class": Unshifted, "make": gpt}, "RUN409"),
    "the head is in no optimizer": (
        {"optimizer_of": lambda model: torch.optim.AdamW(model.bert.parameters(), 2e-3)}, "RUN307"),
    "the head was replaced after the optimizer": ({"optimizer_of": old_head}, "RUN307"),
    "a schedule stepped twice": ({"more": (StepsTheScheduleToo(),)}, "RUN318"),
    "a rate far too high": ({"learning_rate": 1e30, "max_grad_norm": 0.0}, "RUN601"),
}  # fmt: skip


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_training_goes_through_without_a_word(name: str, tmp_path: Path) -> None:
    doctor = ts.hf.Doctor(is_quiet=True)
    train(tmp_path, doctor, **HEALTHY[name])
    assert doctor.findings == []
    assert doctor.rows[-1]["steps"] >= 8


@pytest.mark.parametrize("name", SICK)
def test_a_fault_is_named(name: str, tmp_path: Path) -> None:
    options, code = SICK[name]
    doctor = ts.hf.Doctor(is_quiet=True)
    train(tmp_path, doctor, **options)
    assert [finding.code for finding in doctor.findings][:1] == [code]


def test_the_weights_are_the_same_with_and_without(tmp_path: Path) -> None:
    alone, watched = train(tmp_path, None), train(tmp_path, ts.hf.Doctor(is_quiet=True))
    pairs = zip(alone.state_dict().values(), watched.state_dict().values(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_a_training_that_fails_leaves_nothing_attached(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    before = (F.cross_entropy, torch.autograd.backward, torch.save, nn.Module.__init__)

    def all_frozen() -> Any:
        return bert().requires_grad_(False)

    doctor = ts.hf.Doctor()
    with pytest.raises(RuntimeError, match="does not require grad"):
        train(tmp_path, doctor, make=all_frozen)
    assert (F.cross_entropy, torch.autograd.backward, torch.save, nn.Module.__init__) == before
    assert "no step of a torch optimizer was seen" in capsys.readouterr().err
