"""What a model took over from given weights, tensor by tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from torchstone.core.run import Run
from torchstone.core.store import write_json


@dataclass(frozen=True)
class WeightsReport:
    """What came from given weights, by the names of the tensors.

    matched: taken over; adapted: taken over after summing the colours for grey pictures; fresh: stayed as
    initialised (the last layer for other classes, a replaced stem, vectors of another vocabulary); unused: in the
    weights alone. source: the file or folder; sha256: of its content, empty for `hub`; layout: how names were read.
    remark: what names and shapes do not tell, in a sentence; empty for none.
    """

    matched: tuple[str, ...]
    adapted: tuple[str, ...]
    fresh: tuple[str, ...]
    unused: tuple[str, ...]
    source: str = ""
    sha256: str = ""
    layout: str = ""
    remark: str = ""

    def __str__(self) -> str:
        total = len(self.matched) + len(self.adapted) + len(self.fresh)
        origin = " ".join(part for part in (self.source, f"({self.layout})" if self.layout else "") if part)
        adapted = f"; adapted: {few(self.adapted)}" if self.adapted else ""
        return (f"{len(self.matched) + len(self.adapted)} of {total} tensors from the weights {origin}".rstrip()
                + f"{adapted}; fresh: {few(self.fresh)}; unused: {few(self.unused)}"
                + (f"; {self.remark}" if self.remark else ""))

    def to_json(self) -> dict[str, Any]:
        """The report as `weights.json` of a run holds it: every name of every kind."""
        return {
            "source": self.source, "sha256": self.sha256, "layout": self.layout, "matched": list(self.matched),
            "adapted": list(self.adapted), "fresh": list(self.fresh), "unused": list(self.unused),
            **({"remark": self.remark} if self.remark else {}),
        }  # fmt: skip


def few(names: Sequence[str]) -> str:
    """The first six names, and how many there are where there are more; `none` without any."""
    shown = ", ".join(names[:6])
    return f"{shown}, … ({len(names)} in all)" if len(names) > 6 else shown or "none"


def weights_report(network: nn.Module) -> WeightsReport | None:
    """What a network took over; None if it starts from scratch or was restored from its own checkpoint."""
    report = vars(network).get("weights_report")
    return report if isinstance(report, WeightsReport) else None


def note_report(network: nn.Module, report: WeightsReport) -> None:
    """Leaves the report with the network, where `weights_report` finds it."""
    # nn.Module's own __setattr__ is typed for tensors and modules only
    vars(network)["weights_report"] = report


def write_report(run: Run, network: nn.Module) -> None:
    """weights.json in the run's folder, where the network took anything over."""
    report = weights_report(network)
    if report is not None:
        write_json(run.folder / "weights.json", report.to_json())
