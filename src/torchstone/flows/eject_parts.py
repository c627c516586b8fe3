"""Model, loss, optimizer, schedule and all else that trains, as blocks and values of the templates of a script."""

from __future__ import annotations

from typing import Any

from torchstone.core.dataset import Dataset
from torchstone.flows.eject_script import Script, cannot
from torchstone.parts import metrics

OPTIMIZERS = {
    "adamw": "AdamW", "adam": "Adam", "sgd": "SGD", "radam": "RAdam", "nadam": "NAdam", "rmsprop": "RMSprop",
    "adafactor": "Adafactor",
}  # fmt: skip
_FUSED = ("adamw", "adam", "sgd")
_BETAS = ("adamw", "adam", "radam", "nadam")
# Multiplier after the warm-up, in words and as an expression of progress 0 to 1; a fixed warm-up where it has none.
FALLS = {
    "constant": ("stays", "1.0"),
    "cosine": ("falls along a cosine to `floor`",
               "floor + (1 - floor) * (1 + math.cos(math.pi * progress)) / 2"),
    "linear": ("falls along a line to `floor`", "floor + (1 - floor) * (1 - progress)"),
    "polynomial": ("falls to `floor` as (1 - progress)^power", "floor + (1 - floor) * (1 - progress) ** power"),
    "exponential": ("falls to `end` by the same factor at every step", "float(end**progress)"),
}  # fmt: skip
REGRESSION = {
    "mse": ("Squared differences", "mse_loss"), "mae": ("Absolute differences", "l1_loss"),
    "huber": ("Half the squared differences up to `delta`, then a line,", "huber_loss"),
    "smooth_l1": ("Squared differences near 0, absolute ones further out,", "smooth_l1_loss"),
}  # fmt: skip
MODELS = {
    "table": ("table_mlp", "table_resnet"), "text": ("text_cnn", "text_gru", "text_lstm"),
    "image": ("small_resnet", "resnet18", "resnet50", "mobilenet_v3_small", "mobilenet_v3_large", "efficientnet_b0",
              "convnext_tiny"),
}  # fmt: skip
_SAMPLED = {
    "class_balanced": "A class of n examples has a share as n^power has: rare ones repeat, frequent ones rest.",
    "oversampled": "Those of rare classes repeat until each class has `share` of the largest one's number.",
}  # fmt: skip


def add_model(script: Script, modality: str, dataset: Dataset) -> None:
    """The model and its first weights."""
    name = script.part("model", MODELS[modality])
    options = script.options("model")
    for given in ("weights", "folder"):
        if options.pop(given, None) is not None:
            raise cannot(f"model.options.{given}", "given weights", "only models that start from scratch can be")
    script.flags.add(str(name))
    if modality == "image":
        _add_network(script, str(name), options)
    elif modality == "text" and name != "text_cnn":
        script.flags.add("recurrent")
        script.values["cell"] = "GRU" if name == "text_gru" else "LSTM"
    elif modality == "table":
        _add_table_model(script, options, dataset)
    script.settings["model"] = options


def _add_table_model(script: Script, options: dict[str, Any], dataset: Dataset) -> None:
    norms = {"layer": "nn.LayerNorm(width)", "rms": "nn.RMSNorm(width)", "none": "nn.Identity()"}
    has_depth = bool(options.pop("stochastic_depth", 0.0))
    if has_depth:
        options["stochastic_depth"] = script.plan["model.options.stochastic_depth"]
        script.flags.add("stochastic_depth")
    inputs = [kind for kind in ("numbers", "categories") if kind in script.flags]
    has_numbers = "numbers" in script.flags
    script.values |= {
        "norm_width": norms[options.pop("norm")],
        "num_numbers": ", num_numbers: int" if has_numbers else "",
        "columns_of_data": "data.sizes, data.numbers.shape[1]" if has_numbers else "data.sizes",
        "inputs_named": ", ".join(inputs),
        "inputs_typed": ", ".join(f"{name}: Tensor" for name in inputs),
        "drop_parameter": ", drop: float" if has_depth else "",
        "drop_option": ", stochastic_depth: float" if has_depth else "",
    }


def _add_network(script: Script, name: str, options: dict[str, Any]) -> None:
    norm, stem = options.pop("norm", "batch"), options.pop("stem", "standard")
    if norm != "batch":
        raise cannot("model.options.norm", norm, "a script's networks have BatchNorm")
    depth = options.pop("stochastic_depth", 0.0)
    if name == "small_resnet":
        if depth:
            options["stochastic_depth"] = depth
            script.flags.add("stochastic_depth")
        return
    script.flags.add("torchvision")
    named = {"dropout": "dropout"} if "dropout" in options else {}
    if name in ("efficientnet_b0", "convnext_tiny"):
        options["stochastic_depth"] = depth
        named["stochastic_depth"] = "stochastic_depth_prob"
    script.values |= {
        "network": name,
        "network_options": (", *" if named else "") + "".join(f", {option}: float" for option in named),
        "network_given": "".join(f", {theirs}={ours}" for ours, theirs in named.items()),
    }
    if stem == "small":
        script.flags |= {"other_stem", "small_stem"}
    elif script.settings["image"]["channels"] != 3:
        script.flags.add("other_stem")


def add_loss(script: Script) -> None:
    """The loss, as a sum and what it weighs."""
    name = str(script.part("loss", ("cross_entropy", "binary_cross_entropy", *REGRESSION)))
    options = script.options("loss")
    smoothing = options.pop("label_smoothing", 0.0)
    if options.get("ignore_index") is not None:
        raise cannot("loss.options.ignore_index", options["ignore_index"], "every target of a script counts")
    weights = options.get("class_weights") or options.get("pos_weight")
    given = ""
    if name in REGRESSION:
        script.flags.add("regression")
        script.values |= dict(zip(("loss_name", "loss_function"), REGRESSION[name], strict=True))
        given = "".join(f', {option}=SETTINGS["loss"]["{option}"]' for option in options)
        script.settings |= {"loss": options} if options else {}
    else:
        script.flags.add(name)
        kind = "class_weights" if name == "cross_entropy" else "pos_weight"
        settings = {"label_smoothing": smoothing} if smoothing else {}
        settings |= {kind: list(weights)} if weights else {}
        script.flags |= set(settings) | ({"weighted"} if weights and name == "cross_entropy" else set())
        script.flags |= {"weighted"} if name == "binary_cross_entropy" else set()
        given = ', label_smoothing=SETTINGS["loss"]["label_smoothing"]' if smoothing else ""
        script.settings |= {"loss": settings} if settings else {}
    script.values |= {"loss_options": given, "smoothing": 'SETTINGS["loss"]["label_smoothing"]'}


def add_optimizer(script: Script) -> None:
    """The optimizer over its parameter groups."""
    name = str(script.part("optimizer", tuple(OPTIMIZERS)))
    options = script.options("optimizer")
    if name in _BETAS:
        options = {"betas": [0.9, 0.999], "eps": 1e-8, **options}
    options |= {"eps": options.get("eps", 1e-8)} if name == "rmsprop" else {}
    if name == "adafactor" and "clip" in options:
        options["d"] = options.pop("clip")
    decay = options.pop("weight_decay", 0.0)
    given = ", fused=True" if name in _FUSED else ""
    given += ", decoupled_weight_decay=True" if name in ("radam", "nadam") else ""
    if decay:
        script.flags.add("decay")
        script.settings["decay"] = {"weight_decay": decay}
    elif name in ("adamw", "adafactor"):  # whose own default is another
        given = f", weight_decay=0.0{given}"
    script.flags |= {"begin_late"} if name == "sgd" and options.get("momentum") else set()
    script.flags |= {"betas"} if name in _BETAS else set()
    script.values |= {
        "optimizer": OPTIMIZERS[name], "optimizer_given": given,
        "decay_value": 'SETTINGS["decay"]["weight_decay"]',
    }  # fmt: skip
    script.settings["optimizer"] = options


def add_schedule(script: Script) -> None:
    """The learning rate by step, and momentum where it moves along."""
    name = str(script.part("schedule", (*FALLS, "step", "one_cycle")))
    options = script.options("schedule")
    if name == "one_cycle":
        script.flags.add("one_cycle")
        momentum = options.pop("momentum")
        if momentum is not None:
            script.flags.add("momentum_cycle")
            script.settings["momentum"] = {"lowest": momentum[0], "highest": momentum[1]}
    elif name == "step":
        script.flags.add("stairs")
    else:
        script.flags.add("warmed")
        script.flags |= {"constant"} if name == "constant" else set()
        falls, after = FALLS[name]
        others = [option for option in options if option != "warmup"]
        script.values |= {
            "falls": falls, "after": after, "schedule_options": "".join(f", {option}: float" for option in others),
        }  # fmt: skip
    script.settings["schedule"] = options


def add_feeding(script: Script, dataset: Dataset) -> None:
    """Which examples make a step, and how they are mixed."""
    sampler = script.part("sampler", ("shuffled", "undersampled", *_SAMPLED)) or "shuffled"
    script.flags.add(sampler)
    options = script.options("sampler")
    script.settings |= {"sampler": options} if options else {}
    if sampler in _SAMPLED:
        script.flags.add("by_class")
        script.values["how_often"] = _SAMPLED[sampler]
    if mix := script.part("mix", ("mixup", "cutmix")):
        script.flags.add(mix)
        script.settings["mix"] = script.options("mix")
        script.values["num_classes"] = str(len(dataset.classes))


def add_averaging(script: Script) -> None:
    """The averaged weights, if there are any."""
    name = script.part("averaging", ("ema", "swa"))
    script.values["judged"] = {"ema": "training.average", "swa": "model"}.get(str(name), "training.model")
    if name is None:
        return
    options = script.options("averaging")
    batches = options.pop("recalibrate")
    if batches and script.flags & {"small_resnet", "torchvision"}:
        raise cannot("averaging.options.recalibrate", batches, "a script measures no BatchNorm statistics anew")
    script.flags |= {name}
    if name == "swa":
        script.flags.add("swa_steps" if options["every"] else "swa_epochs")
        options = options if options["every"] else {"start": options["start"]}
    script.settings["averaging"] = options


def add_judging(script: Script, dataset: Dataset) -> None:
    """How validation chooses the best weights."""
    metric = str(script.take("metric"))
    kind = "number" if dataset.target.dtype.kind == "f" else ("multi" if dataset.target.ndim == 2 else "single")
    script.flags.add(kind)
    sign = "-" if metrics.direction(metric) == "min" else ""
    call = "loss_sum / weight_sum" if metric == "loss" else f"{metric}(scores, target)"
    script.values["num_outputs"] = "1" if kind == "number" else "len(data.classes)"
    script.values |= {"metric": metric, "sign": sign, "metric_call": call}
    script.flags |= {"metric_loss"} if metric == "loss" else set()
    if len(dataset.rows("validation")):
        script.flags.add("validation")


def add_training(script: Script, num_per_epoch: int) -> None:
    """Epochs, batches, precision, clipping, ranks."""
    if script.take("train.strategy") != "single":
        script.flags |= {"ranks", "agreed"} if script.flags & {"small_resnet", "torchvision"} else {"ranks"}
    taken = {name: script.take(f"train.{name}") for name in (
        "epochs", "batch_size", "accumulate", "precision", "clip_norm", "patience", "seed", "threads", "device",
        "deterministic", "eval_batch_size",
    )}  # fmt: skip
    if taken["precision"] == "fp16":
        raise cannot("train.precision", "fp16", "a script skips no steps as a loss scaler does; bf16 can be")
    taken["batch_size"] = min(int(taken["batch_size"]), num_per_epoch)
    settings = {"device": taken["device"], "seed": taken["seed"], "epochs": taken["epochs"]}
    settings |= {name: taken[name] for name in ("batch_size", "eval_batch_size")}
    script.flags |= {"bf16"} if taken["precision"] == "bf16" else set()
    script.flags |= {"cuda"} if str(taken["device"]).startswith("cuda") else set()
    script.flags |= {"deterministic"} if taken["deterministic"] else set()
    rest = num_per_epoch % taken["batch_size"]
    script.flags |= {"single_rest"} if rest == 1 and num_per_epoch > taken["batch_size"] > 2 else set()
    flags = {"threads": "threads", "clip_norm": "clip"}
    flags |= {"patience": "patience"} if "validation" in script.flags else {}
    for name, flag in flags.items():
        if taken[name]:
            script.flags.add(flag)
            settings[name] = taken[name]
    _add_accumulation(script, settings, taken)
    if script.part("clipping", ("value",)):
        script.flags.add("clip_value")
        script.settings["clipping"] = script.options("clipping")
    ends = ", or no validation was better for too long" if "patience" in script.flags else ""
    script.values |= {"or_stopped": ends}
    script.settings["train"] = settings


def _add_accumulation(script: Script, settings: dict[str, Any], taken: dict[str, Any]) -> None:
    pieces = int(taken["accumulate"])
    is_small = taken["batch_size"] <= pieces
    script.values |= {
        "least_words": "" if is_small else " of a single row", "over_least": "" if is_small else " // 2",
        "why_once": ", whatever they are cut into" if pieces > 1 else "",
    }  # fmt: skip
    script.flags |= {"accumulate"} if pieces > 1 else set()
    if script.flags & {"accumulate", "ranks"}:
        settings["accumulate"] = pieces
