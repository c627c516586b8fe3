"""`torchstone report`: gathers what a run left behind; the page is made from it by `torchstone.report.html`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError
from torchstone.core.finding import SEVERITIES, Finding
from torchstone.core.run import Run
from torchstone.core.trace import read_trace
from torchstone.flows.contact_sheet import NAMES
from torchstone.flows.predictions import Judged, judge_predictions

if TYPE_CHECKING:
    import numpy as np

# The columns of the ledger that are drawn.
_COLUMNS = (
    "step", "epoch", "examples", "loss", "lr", "grad_norm", "clipped_norm", "update_ratio", "wait_ms", "step_ms"
)  # fmt: skip


@dataclass(frozen=True)
class ReportData:
    """All that the page of a run shows; whatever the run has not left behind is empty.

    status: finished, stopped, failed, or `unfinished` where the run was killed or still goes on.
    plan: the rows of plan.yaml. steps: column → float64 [steps], NaN where the trace has null.
    validations: the trace's rows of that kind. notes: (step, text) in order.
    judged: one entry per file of predictions. gaps: what is not shown, and why. first_batch: the file beside the page
    that shows what the model saw first.
    """

    name: str
    folder: str
    status: str
    result: Mapping[str, Any] = field(default_factory=dict)
    plan: Sequence[Mapping[str, Any]] = ()
    steps: Mapping[str, np.ndarray] = field(default_factory=dict)
    validations: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[tuple[int | None, str]] = ()
    findings: Sequence[Finding] = ()
    judged: Sequence[Judged] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    baselines: Sequence[Mapping[str, Any]] = ()
    gaps: Sequence[str] = ()
    first_batch: str = ""

    def choice(self, name: str) -> Any:
        """The plan's value of a field, None where the plan has none."""
        return next((row.get("value") for row in self.plan if row.get("field") == name), None)


def gather(run: Run, dataset: Dataset | None) -> ReportData:
    """Reads a run's folder, also that of a run that was killed or failed.

    dataset: the data of the run, for names, texts and pictures; without it, or if it has changed since (another
    digest than data.json holds), examples are shown by their row number. A file that is missing or unreadable
    becomes a line in `gaps`.
    """
    gaps: list[str] = []
    rows = _trace(run, gaps)
    result = _document(run.result, gaps)
    data = _document(run.data, gaps)
    if dataset is not None and data.get("digest") not in (None, dataset.digest):
        gaps.append("The data has changed since the run; its examples are shown by row number.")
        dataset = None
    finish = [row for row in rows if row.get("event") == "finish"]
    return ReportData(
        name=run.name,
        folder=str(run.folder),
        status=str(result.get("status") or (finish[-1].get("status") if finish else None) or "unfinished"),
        result=result,
        plan=_plan(run.plan, gaps),
        steps=_columns([row for row in rows if row.get("event") == "step"]),
        validations=[row for row in rows if row.get("event") == "validation"],
        notes=_notes(rows),
        findings=_findings(run.findings, gaps),
        judged=_judged(run, dataset, data, gaps),
        environment=_document(run.environment, gaps),
        data=data,
        baselines=_document(run.baselines, []).get("baselines", []),
        gaps=gaps,
        first_batch=next((name for name in NAMES if (run.folder / name).is_file()), ""),
    )


def _trace(run: Run, gaps: list[str]) -> list[dict[str, Any]]:
    try:
        return read_trace(run.trace)
    except StoneError as error:
        gaps.append(f"No curves: {error.what} ({error.where})")
        return []


def _document(path: Path, gaps: list[str]) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        gaps.append(f"{path.name} is not there (yet).")
        return {}
    except (OSError, ValueError) as error:
        gaps.append(f"{path.name} cannot be read: {error}")
        return {}
    return value if isinstance(value, dict) else {"value": value}


def _plan(path: Path, gaps: list[str]) -> list[dict[str, Any]]:
    import yaml

    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        gaps.append(f"{path.name} cannot be read: {error}")
        return []
    rows = value.get("choices") if isinstance(value, dict) else value
    return [row for row in rows or [] if isinstance(row, dict) and "field" in row]


def _findings(path: Path, gaps: list[str]) -> list[Finding]:
    if not path.exists():
        return []
    try:
        found = [Finding.from_json(row) for row in read_trace(path)]
    except (StoneError, TypeError, KeyError) as error:
        gaps.append(f"{path.name} cannot be read: {error}")
        return []
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def _columns(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    import numpy as np

    return {name: np.array([row.get(name) for row in rows], dtype=np.float64) for name in _COLUMNS}


def _notes(rows: list[dict[str, Any]]) -> list[tuple[int | None, str]]:
    notes = [(row.get("step"), str(row.get("text", ""))) for row in rows if row.get("event") == "note"]
    for row in rows:
        if row.get("event") in ("stop", "finish") and row.get("reason"):
            notes.append((row.get("step"), f"{row.get('status', 'stopped')}: {row['reason']}"))
    return notes


def _judged(run: Run, dataset: Dataset | None, data: Mapping[str, Any], gaps: list[str]) -> list[Judged]:
    import zipfile

    import numpy as np

    judged = []
    for split in ("validation", "test"):
        path = run.predictions / f"{split}.npz"
        if not path.exists():
            continue
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in ("rows", "scores", "target", "loss")}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            gaps.append(f"predictions/{path.name} cannot be read: {error}")
            continue
        if dataset is not None and len(arrays["rows"]) and int(arrays["rows"].max()) >= len(dataset):
            gaps.append(f"predictions/{path.name} speaks of more rows than the data has; they are shown by number.")
            dataset = None
        classes = dataset.classes if dataset is not None else data.get("classes") or ()
        judged.append(judge_predictions(split, arrays, dataset, [str(name) for name in classes]))
    if not judged:
        gaps.append("There are no predictions yet: no confusion matrix, no table of classes, no examples.")
    return judged
