"""`torchstone evaluate`: a run's best weights on data that it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from torchstone.cli import options, show


@click.command(name="evaluate")
@click.argument("run", required=False, type=str)
@click.option("--split", type=click.Choice(["train", "validation", "test"]), default="test", show_default=True)
@options.project
@options.as_json
@options.traceback
def command(run: str | None, split: str, project: Path | None, is_json: bool) -> int:
    """Score a run on data that it has not seen.

    RUN is a run's name or folder; without it, the newest. Each look at the test split makes it a little less of a
    test: choose between runs by validation, and look here once.
    """
    from torchstone.core.run import find_run
    from torchstone.flows.evaluate import evaluate

    home = project or Path.cwd()
    result = evaluate(find_run(home, run), split=split, project=home, progress=show.reading(is_json))
    if is_json:
        show.answer(result)
    else:
        for line in lines(result):
            click.echo(line)
    return 0


def lines(result: dict[str, Any]) -> list[str]:
    """The result as rows: each metric with its interval."""
    counted = f"{result['n']:,} examples, each scored once"
    rows = [f"{'run':<12}{result['run']}", f"{'split':<12}{result['split']}, {counted}"]
    if "looks" in result and result["split"] == "test":
        rows.append(f"{'looks':<12}{result['looks']}: a test set that decides between runs is a validation set")
    if result.get("checkpoint") == "last":
        rows.append(f"{'weights':<12}the last: no epoch was validated, so that none is the best")
    width = max([20, *(len(name) + 2 for name in result["metrics"])])
    for name, metric in result["metrics"].items():
        low, high = metric.get("low"), metric.get("high")
        interval = f"  [{low:.4g}, {high:.4g}]" if low is not None and high is not None else ""
        value = "undefined" if metric["value"] is None else f"{metric['value']:.4g}"
        rows.append(f"{name:<{width}}{value}{interval}")
    return rows
