"""Which validation is the best: the metric decides, then the loss."""

from __future__ import annotations

from torchstone.engines.pytorch.progress import Progress


def best_epochs(metric: str, direction: str, *validations: dict[str, float | None]) -> tuple[list[bool], Progress]:
    progress = Progress()
    seen = [
        progress.note_validation(metric, direction, {"step": i, "epoch": i, "metrics": metrics})
        for i, metrics in enumerate(validations)
    ]
    return seen, progress


def test_among_equal_metrics_the_lower_loss_is_better():
    rows = [{"accuracy": 1.0, "loss": loss} for loss in (0.9, 0.4, 0.5, 0.4)]
    seen, progress = best_epochs("accuracy", "max", *rows)
    assert seen == [True, True, False, False]
    assert progress.best is not None
    assert progress.best["step"] == 1
    assert progress.bad_epochs == 2


def test_a_better_metric_wins_whatever_its_loss():
    seen, _ = best_epochs("accuracy", "max", {"accuracy": 0.5, "loss": 0.1}, {"accuracy": 0.6, "loss": 9.0})
    assert seen == [True, True]
    rows = [{"rmse": 2.0, "loss": 0.1}, {"rmse": 1.0, "loss": 9.0}, {"rmse": 3.0, "loss": 0.0}]
    seen, _ = best_epochs("rmse", "min", *rows)
    assert seen == [True, True, False]


def test_a_loss_that_is_not_a_number_never_wins_a_tie():
    seen, _ = best_epochs("accuracy", "max", {"accuracy": 1.0, "loss": 0.9}, {"accuracy": 1.0, "loss": float("nan")})
    assert seen == [True, False]
    seen, _ = best_epochs("accuracy", "max", {"accuracy": 1.0, "loss": None}, {"accuracy": 1.0, "loss": 0.9})
    assert seen == [True, True]


def test_without_a_loss_the_first_of_equals_stays():
    assert best_epochs("accuracy", "max", {"accuracy": 1.0}, {"accuracy": 1.0})[0] == [True, False]
