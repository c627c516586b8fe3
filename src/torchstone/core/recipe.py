"""The recipe: what a user may fix; every field left out is planned and explained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator


class Section(BaseModel):
    """A part of the recipe: unknown fields and loose types are mistakes; an empty section is one without fields."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _empty_is_no_fields(cls, value: Any) -> Any:
        return {} if value is None else value


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class Piece(BaseModel):
    """A part by name with its options: `adamw`, or `{name: adamw, weight_decay: 0.1}`.

    Without a name the options are for the part that the plan chooses. The plan checks them against the part's own
    signature.
    """

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    name: str | None = None

    def options(self) -> dict[str, Any]:
        """The options that the user gave."""
        return dict(self.model_extra or {})


# The fields of a recipe that take a part.
PIECES = ("model", "adapter", "loss", "optimizer", "schedule", "averaging", "sampler", "mix", "clipping",
          "image.augment", "image.distort", "image.erase", "text.augment", "init", "data.resample")

Named = Annotated[Piece, BeforeValidator(_named)]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class Shares(Section):
    """Shares of train, validation and test; they add up to 1."""

    train: Share = 0.7
    validation: Share = 0.15
    test: Share = 0.15

    @model_validator(mode="after")
    def _add_up(self) -> Shares:
        total = self.train + self.validation + self.test
        if abs(total - 1) > 1e-6:
            raise ValueError(f"train, validation and test add up to {total:g}; they must add up to 1")
        if self.train == 0:
            raise ValueError("train is 0; there must be something to learn from")
        return self


class Data(Section):
    """Where the examples are and what their columns mean.

    difficulty: a column of numbers, larger for a harder example; it is no feature, see the sampler curriculum.
    """

    path: str
    label: str | list[str] | None = None
    features: list[str] | None = None
    text: str | None = None
    image: str | None = None
    split_column: str | None = None
    split: Shares | None = None
    label_separator: str | None = None
    difficulty: str | None = None
    resample: Named | None = None


class Image(Section):
    """How pictures reach the model; size in pixels, cache limit in GiB."""

    size: Annotated[int, Field(ge=8, le=2048)] | None = None
    augment: Named | None = None
    distort: Named | None = None
    erase: Named | None = None
    cache_gib: Annotated[float, Field(ge=0)] | None = None


class Text(Section):
    """How texts become tokens; max_length in tokens."""

    vocabulary: Annotated[int, Field(ge=16)] | None = None
    max_length: Annotated[int, Field(ge=4)] | None = None
    lowercase: bool | None = None
    augment: Named | None = None


class Checkpoint(Section):
    """When the run is saved and how many checkpoints stay; 0 turns one of the two occasions off."""

    every_steps: Annotated[int, Field(ge=0)] | None = None
    every_minutes: Annotated[float, Field(ge=0)] | None = None
    keep: Count | None = None


class StopOn(Section):
    """Early stopping: after `patience` validations that were not better by more than `min_delta`.

    metric: one of the task's, or loss. direction: max or min, instead of the metric's own.
    """

    metric: str
    patience: Count
    min_delta: Annotated[float, Field(ge=0)] | None = None
    direction: Literal["max", "min"] | None = None


class Train(Section):
    """How the loop runs. batch_size counts the examples of one optimizer step over all ranks and micro-batches.

    l1: a step takes rate * l1 off the size of each weight that decays, down to 0. unfreeze: epochs between the
    releases of frozen layers, or after which epoch each comes; the last layer first. strategy: how several ranks share
    the work, ddp or zero.
    """

    epochs: Count | None = None
    batch_size: Count | None = None
    accumulate: Count | None = None
    recompute: bool | None = None
    precision: Literal["fp32", "bf16", "fp16"] | None = None
    clip_norm: Annotated[float, Field(ge=0)] | None = None
    l1: Annotated[float, Field(ge=0)] | None = None
    freeze: list[str] | None = None
    unfreeze: Count | list[Count] | None = None
    sync_batchnorm: bool | None = None
    patience: Annotated[int, Field(ge=0)] | None = None
    stop_on: StopOn | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    deterministic: bool | None = None
    workers: Annotated[int, Field(ge=0)] | None = None
    threads: Annotated[int, Field(ge=0)] | None = None
    device: str | None = None
    eval_batch_size: Count | None = None
    sample_every: Count | None = None
    strategy: str | None = None
    rank_timeout_minutes: Positive | None = None


class GroupRule(Section):
    """What parameters learn differently: those in whose name the regular expression `match` is found.

    lr_scale: their share of the learning rate. weight_decay: theirs instead of the optimizer's.
    """

    match: str
    lr_scale: Positive | None = None
    weight_decay: Annotated[float, Field(ge=0)] | None = None


class Parameters(Section):
    """Rates and decay by name and by layer.

    layer_decay: each layer learns at so many times the rate of the next one, also one that `train.unfreeze` releases
    later. groups: later rules win.
    """

    layer_decay: Annotated[float, Field(gt=0, le=1)] | None = None
    groups: list[GroupRule] | None = None


class Rules(Section):
    """Which rules judge: codes or families (`DAT`), and severities of single codes."""

    ignore: list[str] = []
    severity: dict[str, Literal["error", "warning", "advice"]] = {}


class Recipe(Section):
    """A run, as far as the user fixes it."""

    version: Literal[1] = 1
    task: str | None = None
    metric: str | None = None
    data: Data
    image: Image = Image()
    text: Text = Text()
    model: Named | None = None
    adapter: Named | None = None
    init: Named | None = None
    loss: Named | None = None
    optimizer: Named | None = None
    schedule: Named | None = None
    averaging: Named | None = None
    sampler: Named | None = None
    mix: Named | None = None
    clipping: Named | None = None
    parameters: Parameters = Parameters()
    train: Train = Train()
    checkpoint: Checkpoint = Checkpoint()
    rules: Rules = Rules()
    _places: Mapping[str, str] = PrivateAttr(default_factory=dict)

    def where(self, field: str) -> str:
        """Where a dotted field was written, as errors say it: `torchstone.yaml:14 optimizer.lr`, else the field."""
        return self._places.get(field, field)

    def with_places(self, places: Mapping[str, str]) -> Recipe:
        """The same recipe, knowing where its fields were written."""
        self._places = places
        return self
