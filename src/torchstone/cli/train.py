"""`torchstone train`: the run."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from torchstone.cli import measure, options, show
from torchstone.core.errors import StoneError
from torchstone.core.event import Event, Observer

if TYPE_CHECKING:
    from torchstone.core.dataset import Dataset
    from torchstone.core.run import Run
    from torchstone.flows.time_limit import TimeSpent
    from torchstone.flows.train import TrainResult


@click.command(name="train")
@click.argument("path", required=False, type=str)
@click.option(
    "--run",
    "--run-name",  # torchrun reads --run as a short form of its own --run-path
    "run_name",
    metavar="NAME",
    help="The run's name; else the time. Under torchrun: --run-name.",
)
@click.option("--resume", metavar="NAME", help="Go on with a run that was interrupted, or extend a finished one.")
@click.option("--no-preflight", "is_unseen", is_flag=True, help="Do not look at the first batch before the first step.")
@click.option("--deterministic", is_flag=True, help="Only algorithms that give the same bits each time.")
@measure.time_limit
@measure.finders
@options.data_options
def command(path: str | None, run_name: str | None, resume: str | None, **given: Any) -> int:
    """Train on a folder, a file or a recipe.

    PATH is data (a folder of pictures per class, or a .csv, .jsonl or .parquet file) or a recipe (.yaml). Without it
    the recipe is ./torchstone.yaml. What is not said is planned, and printed with its reason.
    """
    is_quiet = given["is_json"] or not show.is_first_rank()
    notes: list[str] = []
    spent = measure.time_spent(given["limit"], time.monotonic())
    observers = [note_taker(notes)] if is_quiet else watchers()
    result, dataset = run(path, run_name, resume, given, [*observers, spent] if spent else observers)
    if show.is_first_rank():
        if result.run is not None:
            page(result.run, dataset)
        tell(result, is_json=given["is_json"], notes=notes, spent=spent)
    if (code := interrupted(result)) is not None:
        return code
    return 1 if result.status in ("failed", "blocked") else show.exit_code(result.findings)


def run(
    path: str | None, run_name: str | None, resume: str | None, given: dict[str, Any], observers: Sequence[Observer]
) -> tuple[TrainResult, Dataset | None]:
    """A new run, or an old one that goes on; with the data, where it is at hand."""
    if resume is not None:
        return go_on(path, run_name, resume, given, observers), None
    begun = time.monotonic()
    recipe, project = options.recipe_from(path, given)
    from torchstone.flows.plan import make_plan
    from torchstone.flows.train import check_name, train

    check_name(run_name, project)  # before the data is read, which may take long
    planned = make_plan(recipe, project=project, progress=show.reading(given["is_json"]))
    planned = measure.measured(planned, project, given)
    planned, limits = measure.fitted(planned, project, given["limit"], begun)
    if not given["is_json"] and show.is_first_rank():
        from torchstone.report.terminal import brief_rows, show_rows

        show_rows(brief_rows(planned.plan, planned.findings))
    observers = [*observers, *limits]
    is_seen = not given["is_unseen"]
    result = train(
        recipe, project=project, run_name=run_name, observers=observers, planned=planned, preflight=is_seen
    )
    if result.status == "blocked" and not given["is_json"] and show.is_first_rank():
        from torchstone.report.terminal import finding_rows, show_rows

        show_rows(finding_rows(result.findings[len(planned.findings) :]))  # the plan's own were shown with it
    return result, planned.dataset


def go_on(
    path: str | None, run_name: str | None, name: str, given: dict[str, Any], observers: Sequence[Observer]
) -> TrainResult:
    """Resumes a run: its plan says what it reads, so that naming data or another run is a mistake."""
    if run_name is not None or (path is not None and Path(path).suffix.lower() not in (".yaml", ".yml")):
        other = f"--run {run_name}" if run_name is not None else path
        fix = f"torchstone train --resume {name}"
        raise StoneError(f"--resume {name} goes on with that run's own data; {other} has no place in it", fix=fix)
    if given["find_lr"] or given["find_batch"]:
        fix = f"torchstone train --resume {name}"
        raise StoneError("a run that is resumed keeps its rate and its batch: there is nothing to find", fix=fix)
    from torchstone.flows.train import resume

    observers = [*observers, *measure.limits(given["limit"], time.monotonic())]
    home = given["project"] or (Path(path).absolute().parent if path else Path.cwd())
    return resume(name, project=home, overrides=options.overrides(given), observers=observers)


def interrupted(result: TrainResult) -> int | None:
    """128 + the number of the signal that ended the run (130 for Ctrl-C), as shells have it; None without one."""
    reason = str(result.result.get("reason") or "")
    name = reason.removeprefix("interrupted by ")
    return 128 + signal.Signals[name] if name != reason and result.status == "stopped" else None


def page(run: Run, dataset: Dataset | None) -> None:
    """Writes report.html into the run's folder."""
    from torchstone.report.page import data_of, write_page

    write_page(run, dataset or data_of(run)[0])


def watchers() -> list[Observer]:
    """What a person sees while the run goes on."""
    from torchstone.report.progress import progress_observer

    return [progress_observer()]


def note_taker(notes: list[str]) -> Observer:
    """An observer that keeps the texts of notes, for the answer to a program."""

    def watch(event: Event) -> None:
        if event.kind == "note":
            notes.append(str(event.values["text"]))

    return watch


def baseline_line(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> str:
    """The first metric of each simple predictor on the validation part; of one that is not installed, what to do."""
    shown = [(row["name"], row["metrics"].get(names[0]), row.get("missing")) for row in rows] if names else []
    said = [f"{name} {value:.4g}" if value is not None else f"{name}: {missing}" for name, value, missing in shown
            if value is not None or missing]  # fmt: skip
    return f"{names[0]} " + " · ".join(said) if said else ""


def chosen_first(metrics: Mapping[str, float | None], metric: str | None) -> dict[str, float | None]:
    """Metrics by name, the one that chose the best checkpoint in front."""
    return dict(sorted(metrics.items(), key=lambda item: item[0] != metric))


def tell(
    result: TrainResult, *, is_json: bool, notes: Sequence[str] = (), spent: TimeSpent | None = None
) -> None:  # fmt: skip
    """Prints how a run ended and what one does next. spent: where the time of `--time` went."""
    name, folder = (result.run.name, str(result.run.folder)) if result.run else (None, None)
    if is_json:
        findings = [finding.to_json() for finding in result.findings]
        told: dict[str, Any] = {"status": result.status, "notes": list(notes), "findings": findings}
        told |= {"time": spent.to_json()} if spent else {}
        show.answer({"run": name, "folder": folder, **result.result, **told})
        return
    if result.run is None:
        click.echo("blocked     nothing was trained: mend the findings of severity error above")
        return
    from torchstone.report.terminal import finding_rows, show_rows

    show_rows(finding_rows(finding for finding in result.findings if finding.code.startswith("RUN")))
    best = result.result.get("best")
    if best:
        scores = chosen_first(best["metrics"], result.result.get("metric"))
        if simple := baseline_line(result.result.get("baselines", []), list(scores)):
            click.echo(f"baselines   {simple}")
        metrics = " · ".join(f"{key} {value:.4g}" for key, value in scores.items() if value is not None)
        click.echo(f"best        step {best['step']:,}: {metrics} on validation; test untouched")
    if spent is not None:
        click.echo(f"time        {spent}")
    click.echo(f"run         {folder}")
    if result.status == "finished":
        click.echo(f"next        torchstone evaluate {name} · {result.run.report}")
    else:
        click.echo(f"next        it is {result.status}; go on with: torchstone train --resume {name}")
