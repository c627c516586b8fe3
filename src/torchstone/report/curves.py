"""The charts of a run: loss, metrics, learning rate, gradient norm, throughput, data wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torchstone.flows.report import ReportData
from torchstone.report.plots import line_chart
from torchstone.report.scales import Curve, curve, number

if TYPE_CHECKING:
    import numpy as np

# A gradient norm that spreads further than this is drawn by logarithm: on a straight scale most of it is a flat line.
LOG_SPREAD = 30.0


def charts(data: ReportData) -> str:
    """All charts that the trace has numbers for."""
    best = best_step(data)
    mark = None if best is None else (float(best), f"best, step {best:,}")
    drawn = [_loss(data, mark), *_metrics(data, mark)]
    if len(data.steps.get("step", ())):
        drawn += [_rate(data), _gradient(data), *_time(data), _update(data)]
    return "".join(drawn)


def best_step(data: ReportData) -> int | None:
    """The optimizer step of the best checkpoint: from the result, else the last validation that was the best."""
    step = (data.result.get("best") or {}).get("step")
    if step is None:
        step = next((row.get("step") for row in reversed(data.validations) if row.get("is_best")), None)
    return None if step is None else int(step)


def loss_curve(data: ReportData) -> Curve | None:
    """The training loss of each step; None where the trace has no steps."""
    has_steps = len(data.steps.get("step", ())) > 0
    return curve("train, each step", data.steps["step"], data.steps["loss"]) if has_steps else None


def examples_per_second(data: ReportData) -> np.ndarray:
    """Float64 [steps]; NaN where no time was taken."""
    return _ratio(data.steps["examples"] * 1e3, data.steps["wait_ms"] + data.steps["step_ms"])


def percent(value: float) -> str:
    """A share as text."""
    return f"{100 * value:.3g} %"


def _loss(data: ReportData, mark: tuple[float, str] | None) -> str:
    curves = []
    if len(data.steps.get("step", ())):
        curves.append(curve("train, each step", data.steps["step"], data.steps["loss"]))
    at = [row.get("step", 0) for row in data.validations]
    if at:
        curves.append(curve("validation", at, [(row.get("metrics") or {}).get("loss") for row in data.validations]))
        curves.append(curve("train, epoch mean", at, [row.get("train_loss") for row in data.validations]))
    return line_chart("Loss", curves, marked=mark)


def _metrics(data: ReportData, mark: tuple[float, str] | None) -> list[str]:
    """One chart for each group of metrics with a common unit, the run's own metric first."""
    names = list(dict.fromkeys(name for row in data.validations for name in row.get("metrics") or {}))
    main = data.choice("metric")
    names.sort(key=lambda name: name != main)
    errors = [name for name in names if name in ("mae", "rmse")]
    others = [name for name in names if name not in ("loss", "log_loss", "mae", "rmse")]
    groups = [group for group in (errors, others) if group]
    groups.sort(key=lambda group: main not in group)
    return [
        line_chart(
            "Metric on validation" if group is groups[0] else "Other metric on validation",
            [_validated(data.validations, name) for name in group[:4]],
            marked=mark,
        )
        for group in groups
    ]


def _validated(rows: Sequence[Any], name: str) -> Curve:
    return curve(name, [row.get("step", 0) for row in rows], [(row.get("metrics") or {}).get(name) for row in rows])


def _rate(data: ReportData) -> str:
    return line_chart("Learning rate", [curve("lr", data.steps["step"], data.steps["lr"])], from_zero=True)


def _gradient(data: ReportData) -> str:
    import numpy as np

    step, norm, clipped = (data.steps[name] for name in ("step", "grad_norm", "clipped_norm"))
    curves = [curve("before clipping", step, norm)]
    if bool(np.any(np.isfinite(clipped) & (clipped < norm * 0.999))):
        curves.append(curve("after clipping", step, clipped))
    return line_chart("Gradient norm", curves, is_log=_is_wide(norm))


def _time(data: ReportData) -> list[str]:
    step, wait, taken = (data.steps[name] for name in ("step", "wait_ms", "step_ms"))
    share = _ratio(wait, wait + taken)
    rate = [curve("examples per second", step, examples_per_second(data))]
    return [
        line_chart("Throughput", rate, from_zero=True),
        line_chart("Time spent waiting for data", [curve("share", step, share)], from_zero=True, write=percent),
    ]


def _update(data: ReportData) -> str:
    import numpy as np

    ratio = data.steps["update_ratio"]
    is_there = np.isfinite(ratio)
    if is_there.sum() < 2:  # one sample is no curve
        return ""
    sampled = curve("on sampled steps", data.steps["step"][is_there], ratio[is_there])
    return line_chart("Update-to-weight ratio", [sampled], is_log=bool((ratio[is_there] > 0).any()), write=number)


def _is_wide(values: np.ndarray) -> bool:
    import numpy as np

    finite = values[np.isfinite(values) & (values > 0)]
    return len(finite) > 1 and float(finite.max()) > LOG_SPREAD * float(finite.min())


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    import numpy as np

    quotient = np.full(len(below), np.nan)
    np.divide(above, below, out=quotient, where=below > 0)
    return quotient
