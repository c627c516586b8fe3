"""Runs made without a framework: a small softmax classifier in numpy writes what a training would have written."""

import json
from pathlib import Path

import numpy as np
import yaml
from PIL import Image

from torchstone.core.dataset import Dataset
from torchstone.core.finding import Finding, Where
from torchstone.core.run import Run
from torchstone.core.store import write_json, write_text
from torchstone.core.trace import TraceWriter

EVIL = "<script>alert(1)</script>"

PLAN = [
    ("task", "image-classification", "derived", "a folder per class, decodable images", "", ""),
    ("metric", "accuracy", "default", "the classes are of similar size", "", "classes of unequal size: macro_f1"),
    ("model.name", "small_resnet", "derived", "pictures of 8 x 8 pixels", "He et al. 2015, arXiv 1512.03385", ""),
    ("optimizer.lr", 0.05, "user", "set in torchstone.yaml:14", "", ""),
    ("train.batch_size", 64, "derived", "1,258 training examples", "starting point, tune on your data", "more data"),
    ("schedule", {"name": "cosine", "warmup": 0.05}, "default", "falls smoothly to zero", "", ""),
]

FINDINGS = [
    Finding("DAT201", "warning", "41 images stand in two classes at once", "The model cannot learn both.",
            "remove one of each pair", Where(path="rose/12.jpg"), {"pairs": 41, "threshold": 0}, "our measurement"),
    Finding("RUN203", "error", "the loss was not finite at step 812", "Weights would be lost.", "lower optimizer.lr",
            Where(step=812), {"value": None}, "transformers#46731"),
    Finding("PLN104", "advice", "no warm-up with a transformer", "The first steps are large.", "warmup: 0.05"),
]  # fmt: skip


def softmax(logits):
    """Probabilities [N, K] of logits [N, K]."""
    exp = np.exp(logits - logits.max(1, keepdims=True))
    return exp / exp.sum(1, keepdims=True)


def train(run, inputs, target, is_train, *, epochs, num_classes, batch=64, seed=0):
    """Trains a linear softmax model and writes trace and predictions as a run does."""
    draw = np.random.default_rng(seed)
    weights = draw.normal(size=(inputs.shape[1], num_classes)) * 0.3
    rows, step, best, total = np.flatnonzero(is_train), 0, -1.0, 0
    held = np.flatnonzero(~is_train)
    total = epochs * -(-len(rows) // batch)
    trace = TraceWriter(run.trace)
    trace.append({"event": "start", "step": 0, "time": 1.8e9})
    for epoch in range(epochs):
        losses = []
        for picked in np.array_split(draw.permutation(rows), -(-len(rows) // batch)):
            step += 1
            scores = softmax(inputs[picked] @ weights)
            loss = -np.log(scores[np.arange(len(picked)), target[picked]]).mean()
            gradient = inputs[picked].T @ (scores - np.eye(num_classes)[target[picked]]) / len(picked)
            norm = float(np.sqrt(np.square(gradient).sum()))
            lr = 0.5 * min(step / 20, 0.5 * (1 + np.cos(np.pi * step / total)))
            weights -= lr * gradient * min(1, 1 / norm)
            losses.append(loss)
            trace.append({
                "event": "step", "step": step, "epoch": epoch, "examples": len(picked), "weight": float(len(picked)),
                "loss": float(loss), "lr": float(lr), "scale": 1.0, "skipped": None, "grad_norm": norm,
                "clipped_norm": min(norm, 1.0), "wait_ms": float(draw.gamma(2, 0.2)),
                "update_ratio": float(1e-3 * draw.lognormal(0, 0.3)) if step % 10 == 0 else None,
                "step_ms": float(draw.gamma(30, 0.1)),
            })  # fmt: skip
        scores = softmax(inputs[held] @ weights)
        accuracy = float((scores.argmax(1) == target[held]).mean())
        loss_N = -np.log(scores[np.arange(len(held)), target[held]])
        row = {"event": "validation", "step": step, "epoch": epoch, "train_loss": float(np.mean(losses)),
               "metrics": {"accuracy": accuracy, "macro_f1": accuracy - 0.01, "loss": float(loss_N.mean())},
               "n": len(held), "of": len(held), "is_best": accuracy > best, "seconds": 0.01}  # fmt: skip
        trace.append(row)
        if accuracy > best:
            best, best_row, kept = accuracy, row, (scores.astype(np.float32), loss_N.astype(np.float32))
    trace.append({"event": "note", "step": step, "text": "precision fp16 -> fp32: no fp16 on this CPU"})
    trace.append({"event": "finish", "step": step, "status": "finished", "reason": None})
    trace.close()
    run.predictions.mkdir(parents=True, exist_ok=True)
    np.savez(run.predictions / "validation.npz", rows=held, scores=kept[0], target=target[held], loss=kept[1])
    write_json(run.result, {"status": "finished", "steps": step, "examples_seen": epochs * len(rows),
                            "best": {"step": best_row["step"], "metrics": best_row["metrics"]},
                            "last": {"step": step, "metrics": row["metrics"]}})  # fmt: skip


def write_papers(run, dataset):
    """Plan, findings, environment and data.json of a run."""
    names = ("field", "value", "origin", "reason", "source", "changes_if")
    rows = [{k: v for k, v in zip(names, row, strict=True) if v != ""} for row in PLAN]
    write_text(run.plan, yaml.safe_dump(rows, sort_keys=False, allow_unicode=True))
    write_text(run.findings, "".join(json.dumps(f.to_json()) + "\n" for f in FINDINGS))
    write_json(run.environment, {"python": "3.11.9", "packages": {"torch": "2.14.1", "numpy": "2.4.6"}, "threads": 2,
                                 "git": {"commit": "0" * 40, "is_dirty": False}, "seed": 0})  # fmt: skip
    write_json(run.data, {"digest": dataset.digest, "classes": list(dataset.classes), "ids": list(dataset.ids)})


def dataset_of(task, inputs, kinds, target, classes, is_train):
    """A dataset of N made-up examples with these columns."""
    num = len(target)
    return Dataset(
        task=task, source="made", ids=np.array([f"id{i}" for i in range(num)], dtype=object),
        where=np.array([f"place/{i:04d}" for i in range(num)], dtype=object), inputs=inputs, kinds=kinds,
        target=target, target_name="label", classes=classes, split=np.where(is_train, "train", "validation"),
        groups=np.arange(num), digest="d" * 64,
    )  # fmt: skip


def digits(folder: Path, *, epochs: int = 12, classes=None):
    """A run on scikit-learn's digits with their pictures as files, and its dataset."""
    from sklearn.datasets import load_digits

    data = load_digits()
    paths = []
    (folder / "pictures").mkdir(parents=True)
    for i, picture in enumerate(data.images):
        paths.append(str(folder / "pictures" / f"{i:04d}.png"))
        Image.fromarray((picture * 15.9).astype(np.uint8)).resize((32, 32)).save(paths[-1])
    is_train = np.random.default_rng(0).random(len(paths)) < 0.7
    target = data.target.astype(np.int64)
    dataset = dataset_of("image-classification", {"image": np.array(paths, dtype=object)}, {"image": "image"}, target,
                         classes or [str(i) for i in range(10)], is_train)  # fmt: skip
    run = Run(folder / ".torchstone" / "runs" / "digits")
    train(run, data.data / 16, target, is_train, epochs=epochs, num_classes=10)
    write_papers(run, dataset)
    return run, dataset
