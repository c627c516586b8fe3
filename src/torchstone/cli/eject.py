"""`torchstone eject`: the plan of a run as one plain PyTorch script."""

from __future__ import annotations

from pathlib import Path

import click

from torchstone.cli import options, show
from torchstone.core.errors import StoneError

# Why the training loops of others are not written.
_OTHERS = {
    "lightning": "its Trainer takes the mean of a batch's mean losses, accumulates without the weights of the parts, "
    "clips and steps in an order of its own, so that the weights would be others",
    "hf": "its Trainer shuffles with a generator of its own, scales the loss by its own count of items and reads "
    "models of transformers only, so that the weights would be others",
}


@click.command(name="eject")
@click.argument("run", required=False, type=str)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="The script; else RUN.py, here.")
@click.option("--lightning", "other", flag_value="lightning", help="Not available: says why.")
@click.option("--hf", "other", flag_value="hf", help="Not available: says why.")
@click.option("--force", is_flag=True, help="Replace a script of this name that is already there.")
@options.project
@options.as_json
@options.traceback
def command(
    run: str | None, output: Path | None, other: str | None, force: bool, project: Path | None, is_json: bool
) -> int:
    """Write the plan of a run as one plain PyTorch script.

    RUN is a run's name or folder; without it, the newest. Beside the script lie its hyperparameters (.yaml) and which
    example is for what (.split.csv). Trained on the same kind of CPU it comes to the weights of the run, bit for bit;
    its first steps are tried out before it is written. What a script cannot have yet is refused.
    """
    if other is not None:
        raise StoneError(f"there is no --{other}: {_OTHERS[other]}", where="the call",
                         fix="torchstone eject writes the loop itself, in plain PyTorch")
    from torchstone.core.run import find_run
    from torchstone.flows.eject import eject

    home = project or Path.cwd()
    found = find_run(home, run)
    result = eject(found, project=home, output=output, is_forced=force, progress=show.reading(is_json))
    if is_json:
        show.answer({"run": found.name, **result.to_json()})
        return 0
    click.echo(f"{'script':<12}{result.script}")
    beside = f"{result.settings.name} (hyperparameters) · {result.split.name} (which example is for what)"
    click.echo(f"{'beside it':<12}{beside}")
    click.echo(f"{'tried out':<12}its examples, first weights and first steps are those of {found.name}, bit for bit")
    for note in result.notes:
        click.echo(f"{'note':<12}{note}")
    click.echo(f"{'next':<12}{result.call}")
    return 0
