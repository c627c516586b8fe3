"""Metrics equal scikit-learn's where both are defined, and say NaN where nothing can be said."""

import math
import warnings

import numpy as np
import pytest
from sklearn import metrics as reference

from torchstone.core.catalog import find
from torchstone.parts.metrics import direction, metrics_for
from torchstone.parts.metrics.confusion import confusion
from torchstone.parts.metrics.per_class import per_class

FOLDER = "torchstone.parts.metrics"


@pytest.fixture(autouse=True)
def _no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def _single(seed, num=400, classes=7, absent=()):
    draw = np.random.default_rng(seed)
    kept = [k for k in range(classes) if k not in absent]
    target = draw.choice(kept, size=num, p=draw.dirichlet(np.ones(len(kept))))
    logits = draw.normal(size=(num, classes)) + 1.5 * np.eye(classes)[target]
    logits[:, list(absent)] = -20
    scores = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return scores, target


def _multi(seed, num=300, labels=6):
    draw = np.random.default_rng(seed)
    target = (draw.random((num, labels)) < draw.uniform(0.05, 0.6, labels)).astype(np.uint8)
    scores = np.round(1 / (1 + np.exp(-(draw.normal(size=(num, labels)) + 2 * target - 1))), 2)  # rounded: with ties
    return scores, target


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "name, wanted",
    [
        ("accuracy", lambda s, t: reference.accuracy_score(t, s.argmax(1))),
        ("balanced_accuracy", lambda s, t: reference.balanced_accuracy_score(t, s.argmax(1))),
        ("macro_f1", lambda s, t: reference.f1_score(t, s.argmax(1), average="macro", zero_division=np.nan)),
        ("log_loss", lambda s, t: reference.log_loss(t, s, labels=range(s.shape[1]))),
        ("top5_accuracy", lambda s, t: reference.top_k_accuracy_score(t, s, k=5, labels=range(s.shape[1]))),
    ],
)
def test_a_metric_of_single_labels_equals_scikit_learn(name, wanted, seed):
    scores, target = _single(seed)
    with warnings.catch_warnings(action="ignore"):
        expected = wanted(scores, target)
    assert find(FOLDER, name)(scores, target) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "name, wanted",
    [
        ("micro_f1", lambda s, t: reference.f1_score(t, s >= 0.5, average="micro")),
        ("macro_f1", lambda s, t: reference.f1_score(t, s >= 0.5, average="macro")),
        ("subset_accuracy", lambda s, t: reference.accuracy_score(t, s >= 0.5)),
        ("mean_average_precision", lambda s, t: reference.average_precision_score(t, s)),
    ],
)
def test_a_metric_of_several_labels_equals_scikit_learn(name, wanted, seed):
    scores, target = _multi(seed)
    assert find(FOLDER, name)(scores, target) == pytest.approx(wanted(scores, target), abs=1e-12)


@pytest.mark.parametrize(
    "name, wanted",
    [
        ("mae", reference.mean_absolute_error),
        ("rmse", reference.root_mean_squared_error),
        ("r2", reference.r2_score),
    ],
)
def test_a_metric_of_numbers_equals_scikit_learn(name, wanted):
    draw = np.random.default_rng(0)
    target = draw.normal(50, 10, 200)
    scores = (target + draw.normal(0, 4, 200)).astype(np.float32)
    assert find(FOLDER, name)(scores, target) == pytest.approx(wanted(target, scores.astype(np.float64)), rel=1e-12)


def test_f1_comes_from_counts_and_not_from_the_mean_of_batches():
    # Two classes, the second rare: most batches of eight hold none of it (torchmetrics#845, PyTorchLightning#4493).
    target = np.zeros(64, dtype=np.int64)
    said = np.zeros(64, dtype=np.int64)
    target[[3, 11, 19, 27, 35, 43]] = 1
    said[[3, 11, 19, 50, 51, 52, 53, 54]] = 1
    scores = np.eye(2, dtype=np.float32)[said]
    f1 = [row.f1 for row in per_class(scores, target)]
    assert f1[1] == pytest.approx(2 * 3 / (6 + 8), abs=1e-12)  # 0.4286
    assert f1[1] == pytest.approx(reference.f1_score(target, said))
    assert find(FOLDER, "macro_f1")(scores, target) == pytest.approx(np.mean(f1))
    batches = [per_class(scores[i : i + 8], target[i : i + 8])[1].f1 for i in range(0, 64, 8)]
    assert np.mean(np.nan_to_num(batches)) != pytest.approx(f1[1], abs=0.01)  # the classic mistake differs here


def test_the_loss_of_a_certain_mistake_is_large_but_finite():
    scores = np.array([[1, 0]], dtype=np.float32)
    assert find(FOLDER, "log_loss")(scores, np.array([1])) == pytest.approx(-math.log(2**-23))
    assert find(FOLDER, "log_loss")(scores, np.array([0])) == pytest.approx(0, abs=1e-6)


def test_classes_absent_from_the_set_are_left_out_and_those_only_said_count_as_zero():
    scores, target = _single(3, absent=(2, 5))
    assert find(FOLDER, "macro_f1")(scores, target) == pytest.approx(
        reference.f1_score(target, scores.argmax(1), average="macro")
    )
    said = np.eye(3)[[0, 0, 1, 2]]
    assert find(FOLDER, "macro_f1")(said, np.array([0, 0, 1, 1])) == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert find(FOLDER, "balanced_accuracy")(said, np.array([0, 0, 1, 1])) == pytest.approx(0.75)


def test_a_label_that_is_never_true_is_left_out_of_average_precision():
    scores, target = _multi(1)
    target[:, 2] = 0
    others = [0, 1, 3, 4, 5]
    wanted = reference.average_precision_score(target[:, others], scores[:, others])
    assert find(FOLDER, "mean_average_precision")(scores, target) == pytest.approx(wanted)
    assert math.isnan(find(FOLDER, "mean_average_precision")(scores, np.zeros_like(target)))


@pytest.mark.parametrize("kind", ["single", "multi", "number"])
def test_an_empty_set_and_a_score_that_is_not_finite_are_nan(kind):
    shapes = {"single": ((4, 3), (4,)), "multi": ((4, 3), (4, 3)), "number": ((4,), (4,))}
    scores, target = (np.ones(shape) for shape in shapes[kind])
    target = target.astype({"single": np.int64, "multi": np.uint8, "number": np.float64}[kind])
    broken = scores.copy()
    broken.flat[0] = np.nan
    for name in metrics_for(kind):
        assert math.isnan(find(FOLDER, name)(scores[:0], target[:0])), name
        assert math.isnan(find(FOLDER, name)(broken, target)), name


def test_r2_of_equal_targets_is_undefined():
    assert math.isnan(find(FOLDER, "r2")(np.array([1.0, 2.0]), np.array([3.0, 3.0])))


def test_the_confusion_matrix_has_truth_in_its_rows():
    scores, target = _single(0)
    matrix = confusion(scores, target)
    assert matrix.dtype == np.int64
    np.testing.assert_array_equal(matrix, reference.confusion_matrix(target, scores.argmax(1), labels=range(7)))
    assert confusion(np.eye(3)[[2]], np.array([0])).tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("make", [_single, _multi])
def test_the_table_of_classes_equals_scikit_learn(make):
    scores, target = make(2)
    said = scores >= 0.5 if target.ndim == 2 else scores.argmax(1)
    labels = range(scores.shape[1])
    wanted = reference.precision_recall_fscore_support(target, said, labels=labels, zero_division=np.nan)
    rows = per_class(scores, target)
    got = [[r.precision for r in rows], [r.recall for r in rows], [r.f1 for r in rows], [r.num_true for r in rows]]
    np.testing.assert_allclose(got, wanted)
    assert all(type(row.num_said) is int and type(row.f1) is float for row in rows)


def test_a_class_that_does_not_occur_is_undefined_in_the_table():
    row = per_class(np.eye(3)[[0, 1]], np.array([0, 1]))[2]
    assert (row.num_true, row.num_said) == (0, 0)
    assert all(math.isnan(value) for value in (row.precision, row.recall, row.f1))


def test_only_losses_and_errors_are_better_when_smaller():
    every = [*metrics_for("single"), *metrics_for("multi"), *metrics_for("number"), "loss"]
    assert {name for name in every if direction(name) == "min"} == {"loss", "log_loss", "mae", "rmse"}
