"""Makes a run's page and puts it into the run's folder."""

from __future__ import annotations

from pathlib import Path

from torchstone.core import store
from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError
from torchstone.core.run import Run
from torchstone.flows.look import look_as
from torchstone.flows.report import gather
from torchstone.flows.run_files import stored_recipe
from torchstone.report.html import render


def write_page(run: Run, dataset: Dataset | None) -> Path:
    """Writes report.html of a run, whole or not at all, and returns its path.

    dataset: the run's data, for the pictures and texts of examples; None leaves their row numbers.
    """
    store.write_text(run.report, render(gather(run, dataset)))
    return run.report


def data_of(run: Run) -> tuple[Dataset | None, str]:
    """The data that a run was started with, read again; where that is impossible, None and why."""
    try:
        return look_as(stored_recipe(run)).dataset, ""
    except StoneError as error:
        return None, str(error)
