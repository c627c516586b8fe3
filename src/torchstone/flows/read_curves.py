"""Logs of training after the fact, whoever wrote them: which kind a path is, and the runs in it."""

from __future__ import annotations

from pathlib import Path

from torchstone.core.errors import StoneError
from torchstone.flows.read_curves_events import event_files, read_events
from torchstone.flows.read_curves_mlflow import is_database, read_database, read_run_folders, run_folders
from torchstone.flows.read_curves_own import is_own, read_own
from torchstone.flows.read_curves_points import Log
from torchstone.flows.read_curves_table import KINDS, read_delimited_log, read_json, read_json_lines
from torchstone.parts.formats.content import HEAD_BYTES, content

_TABLES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson")


def read_logs(path: Path) -> list[Log]:
    """Every run that a path holds.

    path: a run's folder or trace.jsonl, rows of torchstone watch, a folder or file of TensorBoard, a run, store or
    database of MLflow, a CSV, TSV, JSON or JSONL of losses, a folder with one of these.
    Raises StoneError where it is none of them, or cannot be read.
    """
    try:
        if path.is_dir():
            return _of_folder(path)
        if not path.exists():
            raise StoneError("there is no such file or folder", where=str(path), fix=KINDS)
        if not path.is_file():  # a pipe without a writer would be waited for without end
            raise StoneError("this is a pipe or a device, no file", where=str(path), fix="write it into a file first")
        return _of_file(path)
    except OSError as error:
        raise StoneError(f"cannot be read: {error.strerror or error}", where=str(path)) from error


def _of_folder(path: Path) -> list[Log]:
    if (path / "trace.jsonl").is_file():
        return [read_own(path / "trace.jsonl")]
    if (path / "trainer_state.json").is_file():
        return [read_json(path / "trainer_state.json")]
    states = sorted(path.glob("checkpoint-*/trainer_state.json"), key=lambda file: file.stat().st_mtime)
    if states:
        return [read_json(states[-1])]
    if event_files(path):
        return read_events(path)
    if (path / "mlflow.db").is_file():
        return read_database(path / "mlflow.db")
    if runs := run_folders(path):
        logs = read_run_folders(runs)
        if logs:
            return logs
        raise StoneError(f"{len(runs)} runs of MLflow, none of which has a metric", where=str(path))
    own = sorted(path.glob(".torchstone/runs/*/trace.jsonl"))
    if own:
        return [read_own(file) for file in own]
    tables = [file for pattern in ("metrics.csv", "version_*/metrics.csv") for file in sorted(path.glob(pattern))]
    tables = tables or sorted(file for file in path.iterdir() if file.suffix.lower() in _TABLES and file.is_file())
    if not tables:
        raise StoneError("no log of a training is in this folder", where=str(path), fix=KINDS)
    return [log for file in tables for log in _of_file(file)]


def _of_file(path: Path) -> list[Log]:
    if "tfevents" in path.name:
        return read_events(path)
    with open(path, "rb") as file:
        head = file.read(HEAD_BYTES)
    if not head.strip():
        raise StoneError("the file is empty", where=str(path), fix=KINDS)
    if is_database(path):
        return read_database(path)
    kind = content(head)
    if kind not in ("text", "json", "series"):
        raise StoneError(f"this file is {kind}, no log of a training", where=str(path), fix=KINDS)
    if path.suffix.lower() == ".json":
        return [read_json(path)]
    if kind == "json":
        if head.lstrip()[:1] == b"[":
            return [read_json(path)]
        return [read_own(path) if is_own(path) else read_json_lines(path)]
    return [read_delimited_log(path)]
