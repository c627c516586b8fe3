"""A run's folder: where each of its files lies."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from torchstone.core.errors import StoneError


@dataclass(frozen=True)
class Run:
    """One training, in a folder of its own."""

    folder: Path

    @property
    def name(self) -> str:
        """The run's name: that of its folder."""
        return self.folder.name

    @property
    def plan(self) -> Path:
        """The plan, YAML."""
        return self.folder / "plan.yaml"

    @property
    def environment(self) -> Path:
        """Packages, machine, git state, seeds, threads."""
        return self.folder / "environment.json"

    @property
    def trace(self) -> Path:
        """One JSON object per event."""
        return self.folder / "trace.jsonl"

    @property
    def findings(self) -> Path:
        """One JSON object per finding."""
        return self.folder / "findings.jsonl"

    @property
    def result(self) -> Path:
        """Status, steps, best and last."""
        return self.folder / "result.json"

    @property
    def checkpoints(self) -> Path:
        """One folder per checkpoint; `best` and `last` point into it."""
        return self.folder / "checkpoints"

    @property
    def encoding(self) -> Path:
        """What the input encoding learnt on the training part (vocabulary, means, categories)."""
        return self.folder / "encoding.json"

    @property
    def asked(self) -> Path:
        """Which rules were to be asked, by their subject."""
        return self.folder / "asked.json"

    @property
    def data(self) -> Path:
        """The digest of the data that the run used, and the number and digest of the ids of each split."""
        return self.folder / "data.json"

    @property
    def predictions(self) -> Path:
        """Validation predictions of the best checkpoint, for the report."""
        return self.folder / "predictions"

    @property
    def baselines(self) -> Path:
        """What simple predictors reach on the validation part."""
        return self.folder / "baselines.json"

    @property
    def report(self) -> Path:
        """The self-contained page."""
        return self.folder / "report.html"


# What must stand before the first step, and may be changed by a resume alone.
PAPERS = ("recipe.json", "data.json", "environment.json", "encoding.json", "asked.json", "plan.yaml")


def papers(run: Run) -> dict[str, str]:
    """SHA-256 of each of the run's papers that is there."""
    files = {name: run.folder / name for name in PAPERS}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items() if path.is_file()}


def runs_folder(project: Path) -> Path:
    """Where the runs of a project live."""
    return project / ".torchstone" / "runs"


def find_run(project: Path, name: str | None) -> Run:
    """The run of this name (or path), or the newest; raises StoneError where there is none."""
    folder = runs_folder(project)
    present = sorted((p for p in folder.glob("*") if (p / "plan.yaml").is_file()), key=lambda p: p.stat().st_mtime)
    if name is not None:
        for candidate in (folder / name, Path(name)):
            if (candidate / "plan.yaml").is_file():
                return Run(candidate)
        listed = ", ".join(p.name for p in present[-5:]) or "none"
        raise StoneError(f"no run is called '{name}'; newest runs: {listed}", where=str(folder))
    if not present:
        raise StoneError("there is no run yet", where=str(folder), fix="start one with: torchstone train DATA")
    return Run(present[-1])
