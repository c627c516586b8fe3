"""`torchstone replay`: the batch that broke a run, layer by layer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from torchstone.cli import options, show

if TYPE_CHECKING:
    from torchstone.flows.replay import Replay

# Layers that are shown at each end of a long list.
SHOWN = 30


@click.command(name="replay")
@click.argument("run", required=False, type=str)
@click.option("--step", type=int, help="The step of the batch; else the newest that is kept.")
@options.project
@options.as_json
@options.traceback
def command(run: str | None, step: int | None, project: Path | None, is_json: bool) -> int:
    """Run the batch again whose loss or gradient was not finite.

    RUN is a run's name or folder; without it, the newest. Weights, dropout and batch are those of that step; the data
    of the run must still be there. Exit code 1: it came again; 0: nothing to replay, or all was finite this time.
    """
    from torchstone.core.run import find_run
    from torchstone.flows.replay import replay

    home = project or Path.cwd()
    found = find_run(home, run)
    result = replay(found, project=home, step=step, progress=show.reading(is_json))
    if is_json:
        show.answer({"run": found.name, **result.to_json()})
    else:
        for line in lines(found.name, result):
            click.echo(line)
    return 0 if result.finding is None else show.exit_code([result.finding])


def lines(name: str, result: Replay) -> Iterator[str]:
    """The replay for a person: both passes up to where it went wrong, then the cause and the mend."""
    if not result.steps:
        yield f"{'run':<12}{name}: no batch is kept, since no loss and no gradient was anything but finite"
        return
    state = result.state
    yield f"{'run':<12}{name}, step {state['step']}, {len(state['rows'])} examples, weights of {state['checkpoint']}"
    yield from (f"{'note':<12}{note}" for note in result.notes)
    yield from forward_lines(result.layers, result.found)
    if result.found.get("phase") != "forward":
        loss = result.found.get("loss")
        yield f"{'loss':<12}{'not finite' if loss is None else f'{loss:.6g}'}"
        yield from backward_lines(result.backward)
    if result.finding is None:
        yield f"{'result':<12}all was finite this time"
        return
    same = "as in the run" if result.is_same else "elsewhere than in the run"
    yield f"{'result':<12}it came again, {same}"
    yield f"{'finding':<12}{result.finding.code} {result.finding.severity}  {result.finding.what}"
    yield f"{'':<12}  fix: {result.finding.fix}"


def forward_lines(layers: list[dict[str, Any]], found: dict[str, Any]) -> Iterator[str]:
    """A line for each layer up to the first bad one: the largest values in and out, and what is not finite."""
    first = next((index for index, layer in enumerate(layers) if layer["bad_out"]), len(layers) - 1)
    label = "forward"
    for layer in layers[: first + 1][-SHOWN:]:
        bad = f"   {layer['bad_out']:,} of {layer['num']:,} values are not finite" if layer["bad_out"] else ""
        named = f"{layer['name'] or '(model)'} ({layer['kind']})"
        yield f"{label:<12}{named:<36} in {layer['largest_in']:<12.4g} out {layer['largest_out']:<12.4g}{bad}"
        label = ""
    if found.get("phase") == "forward" and found.get("layer") == "loss":
        yield f"{label:<12}loss: not finite"


def backward_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each layer in the order of the backward pass, up to the first that gives on a bad gradient."""
    first = next((index for index, row in enumerate(rows) if row["bad"]), len(rows) - 1)
    label = "backward"
    for row in rows[: first + 1][-SHOWN:]:
        bad = f"   {row['bad']:,} values are not finite, first of {row['first']}" if row["bad"] else ""
        yield f"{label:<12}{row['name'] or '(model)':<36} gradient {row['largest']:<12.4g}{bad}"
        label = ""
