"""`eject`: the plan of a run as one plain PyTorch script, which trains to the same weights and needs no torchstone."""

from __future__ import annotations

import importlib
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchstone.core import store
from torchstone.core.dataset import SPLITS, Dataset
from torchstone.core.errors import StoneError
from torchstone.core.run import Run
from torchstone.flows import eject_parts, run_files
from torchstone.flows.eject_data import add_data
from torchstone.flows.eject_script import Script, cannot
from torchstone.flows.look import look_as
from torchstone.flows.plan import task_of
from torchstone.flows.read_pictures import Progress


@dataclass(frozen=True)
class Ejected:
    """What was written: the script, its settings and its split; call: how it is started; notes: what to know."""

    script: Path
    settings: Path
    split: Path
    call: str
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        """All of it as programs read it."""
        files = {"script": str(self.script), "settings": str(self.settings), "split": str(self.split)}
        return {**files, "call": self.call, "notes": self.notes}


def eject(
    run: Run, *, project: Path, output: Path | None = None, is_forced: bool = False, progress: Progress | None = None
) -> Ejected:
    """Writes the script, and beside it its hyperparameters (.yaml) and which example is for what (.split.csv).

    output: where the script goes; else `RUN.py` in the current folder. The script is tried out before it is written:
    its data, first weights and first steps are those of the run, bit for bit on a CPU.
    Raises StoneError where the plan has something that a script cannot have yet, where the data has changed, where
    the run never began, and where a file is there already and `is_forced` is not set.
    """
    path = (output or Path(f"{run.name}.py")).absolute()
    check_output(path, is_forced)
    recipe, plan = run_files.stored_recipe(run), run_files.read_plan(run)
    check_begun(run)
    dataset = look_as(recipe, progress).dataset
    run_files.check_same_data(run, dataset)
    encoding = run_files.read_document(run, run.encoding)
    script = Script(plan)
    split = add_data(script, dataset, recipe, encoding)
    add_pieces(script, dataset)
    script.refuse_rest()
    text = script.text(docstring(run, path, script, dataset), pieces(dataset))
    beside = {path.with_suffix(".yaml"): settings_text(run, path, script), path.with_suffix(".split.csv"): split}
    files = {**beside, path: text}  # the script last: where it is, its settings are
    trial = importlib.import_module("torchstone.engines.pytorch.eject_trial")
    assemble = importlib.import_module("torchstone.engines.pytorch.assemble")
    setting = assemble.Setting(plan, dataset, task_of(dataset), encoding, project / ".torchstone" / "cache")
    trial.check(setting, {file.name: content for file, content in files.items()}, path.name)
    for file, content in files.items():
        store.write_text(file, content)
    settings, split_path = beside
    return Ejected(path, settings, split_path, f"{launcher(run, script)} {path.name}", notes_on(run))


def check_output(path: Path, is_forced: bool) -> None:
    """Raises StoneError for a place where no script can be, or where something else would be lost."""
    if path.suffix != ".py":
        raise StoneError(f"'{path.name}' is no name of a script", where="-o", fix="let it end with .py")
    for file in (path, path.with_suffix(".yaml"), path.with_suffix(".split.csv")):
        if file.exists() and not (is_forced and file.is_file()):
            raise StoneError("this is there already, and may have been changed by hand", where=str(file),
                             fix="give another name with -o NAME.py, or replace it with --force")


def check_begun(run: Run) -> None:
    """Raises StoneError for a run that ended before its first step: what its data is encoded by is not known."""
    if not run.encoding.is_file():
        raise StoneError(f"run {run.name} never began: there is nothing that a script could be compared with",
                         where=str(run.folder), fix=f"train it first: torchstone train --resume {run.name}")


def add_pieces(script: Script, dataset: Dataset) -> None:
    """All of the plan but its data."""
    modality = next(kind for kind in ("image", "text", "table") if kind == _modality(dataset))
    eject_parts.add_judging(script, dataset)
    eject_parts.add_model(script, modality, dataset)
    eject_parts.add_loss(script)
    eject_parts.add_optimizer(script)
    eject_parts.add_schedule(script)
    eject_parts.add_feeding(script, dataset)
    eject_parts.add_averaging(script)
    eject_parts.add_training(script, num_per_epoch(script, dataset))
    script.values["summary"] = f"Trains {script.plan['model.name']} on {Path(dataset.source).name}."


def num_per_epoch(script: Script, dataset: Dataset) -> int:
    """Examples that the sampler of the plan deals out in an epoch."""
    from torchstone.core import catalog

    name, rows = script.plan.get("sampler.name"), dataset.rows("train")
    if name in (None, "shuffled"):
        return len(rows)
    if dataset.target.ndim != 1 or dataset.target.dtype.kind == "f":
        raise cannot("sampler.name", name, "it needs one class per example")
    sampler = catalog.find("torchstone.parts.samplers", name)(**script.plan.section("sampler.options"))
    return len(sampler(dataset.target[rows], 0, 0))


def _modality(dataset: Dataset) -> str:
    return str(task_of(dataset).modality)


def pieces(dataset: Dataset) -> list[str]:
    """The templates of a script, in their order."""
    modality = _modality(dataset)
    data = ["split", "target", "data_image"] if modality == "image" else ["split", "rows", "target", f"data_{modality}"]
    return ["head", *data, f"model_{modality}", "loss", "metric", "optimizer", "schedule", "order", "mix", "loop"]


def docstring(run: Run, path: Path, script: Script, dataset: Dataset) -> str:
    """What stands on top of the script."""
    stem = path.stem
    counts = ", ".join(f"{len(dataset.rows(split)):,} for {split}" for split in SPLITS)
    saved = f"{stem}.rank0.ckpt and so on" if "ranks" in script.flags else f"{stem}.ckpt"
    best = f" and {stem}.best.safetensors (best {script.plan['metric']})" if "validation" in script.flags else ""
    return "\n\n".join([
        script.values["summary"],
        _filled(f"Plain PyTorch, written by `torchstone eject` from the run {run.name}; it trains to the weights of "
                "that run, bit for bit on the same kind of CPU with the same packages."),
        *calls(run, path, script),
        _filled(f"Beside it lie {stem}.yaml (hyperparameters) and {stem}.split.csv (which example is for what: "
                f"{counts}). It leaves {stem}.safetensors (last weights){best}, and after each epoch {saved}, "
                "from which --resume goes on."),
    ])  # fmt: skip


def calls(run: Run, path: Path, script: Script) -> list[str]:
    """How the script is called, as lines of its docstring: with torchrun where the run had several ranks."""
    line = f"    {launcher(run, script)} {path.name} [--data FOLDER] [--resume]"
    if "ranks" not in script.flags:
        return [line]
    return [
        line,
        _filled(f"The run had {num_ranks(run)} ranks, which share out each step's examples. With another number, or as "
                f"python {path.name}, it makes the same steps but for rounding, dropout and BatchNorm's batches."),
    ]  # fmt: skip


def num_ranks(run: Run) -> int:
    """Processes that the run had."""
    return int(run_files.read_document(run, run.environment).get("world", 1))


def launcher(run: Run, script: Script) -> str:
    """What starts the script: python, or torchrun with as many processes as the run had."""
    is_shared = "ranks" in script.flags
    return f"torchrun --standalone --nproc-per-node={num_ranks(run)}" if is_shared else "python"


def _filled(text: str) -> str:
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)


def settings_text(run: Run, path: Path, script: Script) -> str:
    """The YAML file of hyperparameters."""
    import yaml

    head = f"# Hyperparameters of {path.name}, from the plan of the run {run.name}.\n"
    return head + yaml.safe_dump(script.settings, sort_keys=False, allow_unicode=True, width=110)


def notes_on(run: Run) -> list[str]:
    """Why the weights of the run may not be those of its plan."""
    plan = run_files.read_plan(run)
    late = [choice.field for choice in plan if choice.reason == "set when the run was resumed"]
    weighty = [name for name in late if name in ("train.epochs", "train.patience")]
    notes = [f"the run was resumed with another {', '.join(weighty)}: a script that follows the plan from its first "
             "step comes to other weights"] if weighty else []  # fmt: skip
    status = run_files.read_document(run, run.result).get("status") if run.result.is_file() else "not finished"
    if status != "finished":
        notes.append(f"the run is {status}: the script trains to the end of the plan")
    return notes
