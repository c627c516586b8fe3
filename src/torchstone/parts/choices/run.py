"""What every run needs, whatever its data: loss, optimizer, schedule, precision, workers, checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchstone.core.plan import START, Choice
from torchstone.core.task import Task
from torchstone.parts.choices.which_loss import choose_loss

ADAMW = "Loshchilov & Hutter 2019, Decoupled Weight Decay Regularization"
COSINE = "Loshchilov & Hutter 2017, SGDR; warm-up: Goyal et al. 2017"
OURS = "our measurement, 2026-12-01, torch 2.14.1"


def choose_run(task: Task, facts: Mapping[str, Any]) -> list[Choice]:
    """The choices that hold unless a modality's own say otherwise; facts as `flows.facts.facts_of` gives them."""
    return [
        Choice("metric", task.metric, "default", f"the usual measure of {task.name}"),
        *_optimizer(),
        *choose_loss(task, facts),  # after the usual sampler: imbalance may ask for another
        *_length(facts),
        *_machine(facts),
        *_habits(),
    ]


def _optimizer() -> list[Choice]:
    return [
        Choice("optimizer.name", "adamw", "default", "works over a wide range of rates", ADAMW),
        Choice("optimizer.options.lr", 1e-3, "default", "the usual start for adamw", START),
        Choice(
            "optimizer.options.weight_decay", 0.01, "default",
            "decoupled decay of weight matrices; norms, biases and embeddings do not decay", ADAMW,
        ),
        Choice("schedule.name", "cosine", "default", "needs no step to be chosen and ends at a small rate", COSINE),
        Choice("schedule.options.warmup", 0.05, "default", "the first steps of Adam are noisy: rise over 5 %", COSINE),
        Choice("sampler.name", "shuffled", "default", "every example once an epoch"),
        Choice("mix.name", None, "default", "examples stay as they are unless asked for"),
        Choice("clipping.name", None, "default", "train.clip_norm is enough unless asked for"),
        Choice("averaging.name", None, "default", "no average of the weights unless asked for"),
    ]  # fmt: skip


def _length(facts: Mapping[str, Any]) -> list[Choice]:
    num = int(facts["num_train"])
    batch = max(1, min(128, 1 << max(3, (num // 40).bit_length() - 1)))
    return [
        Choice(
            "train.batch_size", min(batch, num), "derived",
            f"{num:,} training examples: about 40 or more steps an epoch, at most 128 examples a step", START,
        ),
        Choice("train.epochs", 20, "default", "enough to see where the curve goes", START),
        Choice("train.l1", 0.0, "default", "weight decay is penalty enough; L1 is for weights that are to become 0"),
        Choice("train.freeze", [], "default", "every weight is trained", source=""),
        Choice("train.patience", 0, "default", "the cosine schedule ends the run; stopping early would cut it off"),
    ]  # fmt: skip


def _machine(facts: Mapping[str, Any]) -> list[Choice]:
    device = str(facts["device"])
    return [
        Choice("train.device", device, "derived", f"found here: {facts.get('accelerator') or 'no accelerator'}"),
        *_patience_with_ranks(facts),
        _threads(facts),
        _workers(facts),
    ]  # fmt: skip


def _patience_with_ranks(facts: Mapping[str, Any]) -> list[Choice]:
    if facts["world"] == 1:
        return []
    reason = "a rank that is silent for so long is lost, and the others end; more than the longest pause of one rank"
    return [Choice("train.rank_timeout_minutes", 10.0, "default", reason, "the default of torch 2.14 for NCCL")]


def _threads(facts: Mapping[str, Any]) -> Choice:
    cores = max(1, int(facts["num_cores"]) // int(facts["local_world"]))
    if facts.get("is_small"):
        reason = "steps this small lose more to waking threads than they gain"
        return Choice("train.threads", 1, "derived", reason, OURS)
    return Choice("train.threads", cores, "derived", f"{cores} of {facts['num_cores']} cores for this rank")


def _workers(facts: Mapping[str, Any]) -> Choice:
    if not facts.get("is_heavy"):
        return Choice("train.workers", 0, "derived", "batches come from memory or the picture cache: no process helps")
    workers = max(1, int(facts["num_cores"]) // int(facts["local_world"]) - 1)
    reason = "pictures are decoded or distorted at every epoch: one process per spare core"
    return Choice("train.workers", workers, "derived", reason)


def _habits() -> list[Choice]:
    return [
        Choice("train.seed", 0, "default", "any number does; it is recorded"),
        Choice("train.deterministic", False, "default", "a CPU repeats anyway; on a GPU the strict mode is slower"),
        Choice("train.eval_batch_size", 256, "default", "the result does not depend on it"),
        Choice("train.sample_every", 100, "default", "the update-to-weight ratio costs a copy of the weights"),
        Choice("checkpoint.every_minutes", 10.0, "default", "at most so many minutes are done again after a crash"),
        Choice("checkpoint.every_steps", 0, "default", "0 is off: minutes say it better"),
        Choice("checkpoint.keep", 2, "default", "the newest two, and the best"),
    ]
