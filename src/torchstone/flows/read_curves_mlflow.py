"""MLflow's local stores: folders of files (mlruns/EXPERIMENT/RUN/metrics), and the database mlflow.db."""

from __future__ import annotations

import contextlib
import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from torchstone.core.errors import StoneError
from torchstone.flows.read_curves_points import Log, Points, series_of

# Runs taken of one store, the newest ones.
NUM_RUNS = 50
_HEAD = b"SQLite format 3\0"


def is_database(path: Path) -> bool:
    """Whether a file is one of SQLite."""
    with open(path, "rb") as file:
        return file.read(len(_HEAD)) == _HEAD


def run_folders(folder: Path) -> list[Path]:
    """The folders of runs in a folder that is a run, an experiment or a store; the newest first."""
    found = [folder] if (folder / "metrics").is_dir() and (folder / "meta.yaml").is_file() else []
    for depth in ("*", "*/*"):
        found += [p for p in folder.glob(depth) if (p / "metrics").is_dir() and (p / "meta.yaml").is_file()]
    return sorted(found, key=lambda run: run.stat().st_mtime, reverse=True)


def read_run_folders(runs: Iterable[Path]) -> list[Log]:
    """One log per run folder that holds metrics. Each file of a metric has lines `timestamp value step`.

    Raises StoneError with file:line for a line that is none.
    """
    logs, left = [], list(runs)
    for run in left[:NUM_RUNS]:
        points: dict[str, Points] = {}
        files = sorted(path for path in (run / "metrics").rglob("*") if path.is_file())
        for file in files:
            points[str(file.relative_to(run / "metrics"))] = _read_metric(file)
        series, notes = series_of({name: one for name, one in points.items() if one.num})
        if series:
            logs.append(Log(str(run), "MLflow", series, notes))
    return logs


def _read_metric(path: Path) -> Points:
    points = Points()
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            words = line.split()
            if not words:
                continue
            try:
                points.add(float(words[2]) if len(words) > 2 else 0.0, float(words[1]))
            except (ValueError, IndexError) as error:
                raise StoneError(f"no line of a metric (timestamp value step): {line.strip()[:60]}",
                                 where=f"{path}:{number}", fix="take the line out, or log the run again") from error
    return points


def read_database(path: Path) -> list[Log]:
    """One log per run of a database, the newest first; it is opened for reading only. Raises StoneError."""
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as store:
        try:
            runs = store.execute(
                "select r.run_uuid, coalesce(r.name, ''), coalesce(e.name, '') from runs r "
                "left join experiments e on e.experiment_id = r.experiment_id "
                "where r.lifecycle_stage = 'active' order by r.start_time desc limit ?", (NUM_RUNS,)).fetchall()
            logs = [_read_run(store, path, *run) for run in runs]
        except sqlite3.Error as error:
            raise StoneError(f"not the database of MLflow: {error}", where=str(path),
                             fix="name mlflow.db, or the folder mlruns") from error
    kept = [log for log in logs if log.series]
    if not kept:
        raise StoneError(f"{len(runs)} runs, none of which has a metric", where=str(path))
    return kept


def _read_run(store: sqlite3.Connection, path: Path, run: str, name: str, experiment: str) -> Log:
    points: dict[str, Points] = defaultdict(Points)
    rows = store.execute(
        "select key, step, value, is_nan from metrics where run_uuid = ? order by key, timestamp, step", (run,))
    for key, step, value, is_nan in rows:
        points[key].add(float(step), math.nan if is_nan else _number(value))
    series, notes = series_of(points)
    title = "/".join(word for word in (experiment, name or run) if word)
    return Log(f"{path}:{title}", "MLflow", series, notes)


def _number(value: float) -> float:
    """MLflow keeps infinities as the largest numbers that a double holds."""
    return math.copysign(math.inf, value) if abs(value) >= 1.7e308 else float(value)
