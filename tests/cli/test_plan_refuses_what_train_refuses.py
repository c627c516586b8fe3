"""Whatever `torchstone train` refuses, `torchstone plan` refuses in the same words, with exit code 2."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from safetensors.torch import save_file

from torchstone.cli import main as door
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.models.small_resnet import small_resnet

TABLE = {
    "train.unfreeze=1": "nothing is frozen",
    "train.freeze=[nowhere]": "'nowhere' matches no parameter",
    "train.freeze=['(']": "'(' is no regular expression",
    "train.freeze=['.']": "every parameter is frozen",
    "adapter=lora": "this model has no attention",
    "train.sync_batchnorm=true": "this model has no BatchNorm",
    "train.device=abacus": "'abacus' is no device",
    "train.device=xpu": "'xpu' is not here",
    "data.resample=smote": "the smallest class has 2 training rows",
    "loss.class_weights=[1, 2, 3]": "class_weights has 3 numbers, the model gives 2",
    "loss={name: focal, alpha: 0.25}": "for 2 classes it needs 2 numbers",
    "loss={name: logit_adjusted, class_counts: [5, 5, 5]}": "class_counts has 3 numbers",
    "parameters.groups=[{match: nowhere, lr_scale: 0.1}]": "'nowhere' is in no parameter's name",
    "init=zero_residual": "finds no weights to set",
}
TOGETHER = [
    (["optimizer=schedule_free", "averaging=ema"], "schedule_free averages the weights itself"),
    (["optimizer=sam", "train.precision=fp16"], "sam takes two gradients a step"),
    (["optimizer=rmsprop", "schedule=one_cycle"], "the schedule moves momentum"),
    (["data.resample=tomek", "sampler=self_paced"], "self_paced goes by the difficulty"),
    (["train.freeze=['0']", "train.unfreeze=[3, 2]"], "expected epochs in rising order"),
    (["train.freeze=['0']", "train.unfreeze=[1, 2, 3, 4]"], "there are 4 releases and 1 frozen layers"),
    (["train.freeze=['0']", "train.unfreeze=9", "train.epochs=4"], "the first release is after epoch 9"),
    (["train.stop_on={metric: loss, patience: 2}", "data.split={train: 0.8, validation: 0.0, test: 0.2}"],
     "there are no validation examples"),
]
TEXTS = [
    (["optimizer=muon"], "muon is for hidden weights"),
    (["model=text_transformer", "adapter={name: lora, rank: 400}"], "rank is 400"),
    (["model=text_transformer", "adapter={name: lora, target: [nowhere]}"], "no linear layer is called nowhere"),
    (["model=text_transformer", "adapter=lora", "train.unfreeze=1"], "train.unfreeze would thaw it"),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [[i, i * i % 7, f"k{int(i % 13 == 0)}"] for i in range(60)]
    texts = [[f"some {'old' if i % 2 else 'new'} words {i}", f"k{i % 2}"] for i in range(60)]
    numbers = [[i, i % 7, i * 1.5 + i % 3] for i in range(60)]
    for name, head, body in (("t", ["a", "b", "label"], rows), ("x", ["text", "label"], texts),
                             ("n", ["a", "b", "y"], numbers)):
        with (tmp_path / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([head, *body])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(data: str, settings: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What both verbs say, which must be the same, and no run may be left."""
    words = [word for setting in settings for word in ("--set", setting)]
    said = []
    for verb in ("plan", "train"):
        assert door.main([verb, data, *words]) == 2, capsys.readouterr()
        said.append(capsys.readouterr().err)
    assert said[0] == said[1]
    assert told in said[0]
    assert not list(Path(".torchstone/runs").glob("*/plan.yaml"))
    return said[0]


@pytest.mark.parametrize("setting", TABLE)
def test_one_setting_that_does_not_fit_this_table(
    setting: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused("t.csv", [setting], TABLE[setting], capsys)
    assert f"--set {setting}" in said  # where it was written


@pytest.mark.parametrize(("settings", "told"), TOGETHER)
def test_settings_that_exclude_each_other(
    settings: list[str], told: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused("t.csv", settings, told, capsys)


@pytest.mark.parametrize(("settings", "told"), TEXTS)
def test_settings_that_find_nothing_in_a_model_for_texts(
    settings: list[str], told: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("peft")
    refused("x.csv", settings, told, capsys)


def test_a_loss_with_more_outputs_than_the_task_has(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = "3 quantiles need (2, 3)"
    refused("n.csv", ["loss={name: quantile, quantiles: [0.1, 0.5, 0.9]}"], told, capsys)


def test_a_difficulty_that_some_rows_do_not_say(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [[i, i % 7, "" if i % 5 == 0 else i, f"k{i % 2}"] for i in range(60)]
    with (place / "d.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b", "hard", "label"], *rows])
    settings = ["sampler={name: curriculum, by: given}", "data.difficulty=hard"]
    refused("d.csv", settings, "nothing says how hard", capsys)


def test_several_of_them_are_told_at_once(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused("t.csv", ["train.device=abacus", "data.resample=smote", "train.unfreeze=1"], "abacus", capsys)
    assert said.count("fix:") == 3


def test_an_init_where_every_weight_was_given(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np
    from PIL import Image

    for label in ("dark", "light"):
        (place / "pictures" / label).mkdir(parents=True)
        for i in range(16):
            pixels = np.random.default_rng(i).integers(0, 255, (12, 12, 3)).astype(np.uint8)
            Image.fromarray(pixels).save(place / "pictures" / label / f"{i}.png")
    save_file(small_resnet(Shape(2, channels=3, size=12), width=8).state_dict(), place / "w.safetensors")
    settings = ["model={name: small_resnet, width: 8, weights: w.safetensors}", "init=zero_residual"]
    assert door.main(["plan", "pictures", *(w for s in settings for w in ("--set", s))]) == 2
    assert "all were given" in capsys.readouterr().err


@pytest.mark.parametrize("settings", [
    ["train.freeze=['0']", "train.unfreeze=1"], ["data.resample={name: smote, neighbors: 1}"], ["optimizer=muon"],
    ["optimizer=schedule_free"], ["train.device=cpu"], ["loss.class_weights=[1, 2]"], ["averaging=swa"],
    ["loss={name: focal, alpha: [1, 2]}"], ["init=orthogonal"], ["sampler=self_paced"],
    ["parameters.layer_decay=0.8", "parameters.groups=[{match: head, lr_scale: 2.0}]"],
])  # fmt: skip
def test_what_fits_is_planned(settings: list[str], place: Path) -> None:
    assert door.main(["plan", "t.csv", *(word for setting in settings for word in ("--set", setting))]) == 0


@pytest.mark.parametrize(("missing", "told"), [
    ("tokenizer.json", "tokenizer.json cannot be read"), ("config.json", "config.json cannot be read"),
])  # fmt: skip
def test_a_folder_of_transformers_that_lacks_a_file_is_named(
    missing: str, told: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers")
    (place / "tiny").mkdir()
    config = {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1,
              "intermediate_size": 8, "vocab_size": 10}  # fmt: skip
    files = {"config.json": json.dumps(config), "tokenizer.json": "{}"}
    for name in files.keys() - {missing}:
        (place / "tiny" / name).write_text(files[name], encoding="utf-8")
    said = refused("x.csv", ["model=text_pretrained", "model.folder=tiny"], told, capsys)
    assert said.startswith(f"model.folder: {place / 'tiny'}")
