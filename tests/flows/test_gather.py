"""Gathering reads what is there and says what is not."""

import base64
import io
import json
import math

import numpy as np
import pytest
from PIL import Image

from torchstone.core.dataset import Dataset
from torchstone.core.finding import Finding
from torchstone.core.run import Run
from torchstone.flows.predictions import NUM_SHOWN, judge_predictions, thumbnail, uncertain, worst
from torchstone.flows.report import gather


def _dataset(num=4, **changes):
    values = {
        "task": "text-classification", "source": "x.csv",
        "ids": np.array([f"i{k}" for k in range(num)], dtype=object),
        "where": np.array([f"x.csv:{k + 2}" for k in range(num)], dtype=object),
        "inputs": {"text": np.array([f"text {k}" for k in range(num)], dtype=object)}, "kinds": {"text": "text"},
        "target": np.arange(num) % 2, "target_name": "y", "classes": ["no", "yes"],
        "split": np.array(["validation"] * num), "groups": np.arange(num), "digest": "d1",
    }  # fmt: skip
    return Dataset(**{**values, **changes})


def _save(run, **arrays):
    run.predictions.mkdir(parents=True, exist_ok=True)
    np.savez(run.predictions / "validation.npz", **arrays)


SCORES = np.array([[0.9, 0.1], [0.8, 0.2], [0.45, 0.55], [0.1, 0.9]], dtype=np.float32)
ARRAYS = {
    "rows": np.arange(4), "scores": SCORES, "target": np.array([0, 1, 0, 1]),
    "loss": np.array([0.1, 1.6, 0.8, 0.1], dtype=np.float32),
}  # fmt: skip


def test_the_worst_and_the_most_uncertain_come_first_with_their_place_and_text(tmp_path):
    run = Run(tmp_path)
    _save(run, **ARRAYS)
    judged = gather(run, _dataset()).judged[0]
    first = judged.worst[0]
    assert (first.where, first.text) == ("x.csv:3", "text 1")
    assert (first.true, first.said, first.is_right) == ("yes", "no", False)
    assert first.confidence == pytest.approx(0.8)
    assert judged.uncertain[0].where == "x.csv:4"
    assert judged.confusion.tolist() == [[1, 1], [1, 1]]
    assert judged.metrics["accuracy"][0] == 0.5


def test_the_rows_of_predictions_are_rows_of_the_whole_dataset(tmp_path):
    run = Run(tmp_path)
    _save(run, **{**ARRAYS, "rows": np.array([3, 2, 1, 0])})
    assert gather(run, _dataset()).judged[0].worst[0].where == "x.csv:4"


def test_data_that_has_changed_is_not_shown_as_if_it_were_the_runs(tmp_path):
    run = Run(tmp_path)
    _save(run, **ARRAYS)
    run.data.write_text(json.dumps({"digest": "other", "classes": ["no", "yes"]}))
    data = gather(run, _dataset())
    assert any("has changed" in gap for gap in data.gaps)
    assert (data.judged[0].worst[0].where, data.judged[0].worst[0].text) == ("row 1", "")


def test_without_the_data_classes_come_from_the_run_and_unknown_ones_are_numbered(tmp_path):
    run = Run(tmp_path)
    _save(run, **ARRAYS)
    run.data.write_text(json.dumps({"classes": ["no"]}))
    assert gather(run, None).judged[0].classes == ["no", "1"]


def test_predictions_about_more_rows_than_the_data_has_are_shown_by_number(tmp_path):
    run = Run(tmp_path)
    _save(run, **{**ARRAYS, "rows": np.array([0, 1, 2, 99])})
    data = gather(run, _dataset())
    assert any("more rows" in gap for gap in data.gaps)
    assert data.judged[0].worst[0].where == "row 1"


def test_broken_files_become_gaps(tmp_path):
    run = Run(tmp_path)
    run.predictions.mkdir()
    (run.predictions / "validation.npz").write_bytes(b"PK\x03\x04 torn")
    run.plan.write_text("- field: a\n  value: [")
    run.result.write_text('{"status": "fin')
    run.trace.write_text('{"event": "step", "st\n{"event": "step", "step": 2}\n')
    run.findings.write_text('{"code": "X"}\n')
    data = gather(run, None)
    text = "\n".join(data.gaps)
    for name in ("validation.npz", "plan.yaml", "result.json", "trace.jsonl:1", "findings.jsonl", "environment.json"):
        assert name in text
    assert data.status == "unfinished"


def test_predictions_with_objects_are_refused(tmp_path):
    run = Run(tmp_path)
    _save(run, **{**ARRAYS, "target": np.array([{}, 1, 2, 3], dtype=object)})
    data = gather(run, None)
    assert data.judged == []
    assert any("validation.npz" in gap for gap in data.gaps)


@pytest.mark.parametrize("layout", ["list", "choices"])
def test_the_plan_is_read_in_both_layouts(tmp_path, layout):
    rows = [{"field": "metric", "value": "macro_f1", "origin": "user", "reason": "r"}]
    Run(tmp_path).plan.write_text(json.dumps(rows if layout == "list" else {"version": 1, "choices": rows}))
    assert gather(Run(tmp_path), None).choice("metric") == "macro_f1"


def test_the_trace_becomes_columns_with_nan_for_null(tmp_path):
    rows = [{"event": "step", "step": 1, "loss": 0.5}, {"event": "step", "step": 2, "loss": None},
            {"event": "note", "step": 2, "text": "hello"},
            {"event": "finish", "step": 2, "status": "stopped", "reason": "you"}]  # fmt: skip
    Run(tmp_path).trace.write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = gather(Run(tmp_path), None)
    assert data.steps["loss"][0] == 0.5
    assert math.isnan(data.steps["loss"][1])
    assert data.notes == [(2, "hello"), (2, "stopped: you")]
    assert data.status == "stopped"


def test_errors_come_before_warnings_and_advice(tmp_path):
    found = [Finding(f"X{i}", severity, "w", "y", "f") for i, severity in enumerate(("advice", "error", "warning"))]
    Run(tmp_path).findings.write_text("".join(json.dumps(f.to_json()) + "\n" for f in found))
    assert [f.severity for f in gather(Run(tmp_path), None).findings] == ["error", "warning", "advice"]


def test_a_loss_that_is_not_finite_is_the_worst():
    assert worst(np.array([1.0, np.nan, 3.0, np.inf])) == [1, 3, 2, 0]
    assert len(worst(np.arange(1000.0))) == NUM_SHOWN


def test_the_margin_is_between_the_two_highest_or_to_the_middle():
    three = np.array([[0.5, 0.1, 0.4], [0.34, 0.33, 0.33], [0.9, 0.05, 0.05]])
    assert uncertain(three, "single") == [1, 0, 2]
    assert uncertain(np.array([[0.9, 0.1], [0.95, 0.45]]), "multi") == [1, 0]


def test_several_labels_are_written_out():
    arrays = {"rows": np.arange(2), "scores": np.array([[0.9, 0.8, 0.1], [0.1, 0.1, 0.1]], dtype=np.float32),
              "target": np.array([[1, 0, 0], [0, 0, 0]], dtype=np.uint8), "loss": np.array([1.0, 0.1])}  # fmt: skip
    judged = judge_predictions("validation", arrays, None, ["a", "b", "c"])
    assert [(e.true, e.said, e.is_right) for e in judged.worst] == [("a", "a, b", False), ("none", "none", True)]


def test_a_tiny_picture_keeps_its_pixels_as_squares(tmp_path):
    Image.fromarray(np.kron(np.eye(4), np.ones((2, 2))).astype(np.uint8) * 255).save(tmp_path / "t.png")
    data = base64.b64decode(thumbnail(str(tmp_path / "t.png")).partition(",")[2])
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert("L"))
    assert pixels.shape == (96, 96)
    assert (pixels[4:20, 4:20] > 200).all()
    assert (pixels[4:20, 28:44] < 50).all()


def test_a_thumbnail_is_small_and_a_broken_or_missing_picture_is_none(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (900, 1800, 4), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "a.png")
    assert len(thumbnail(str(tmp_path / "a.png"))) < 12_000
    (tmp_path / "b.png").write_bytes((tmp_path / "a.png").read_bytes()[:5000])
    assert thumbnail(str(tmp_path / "b.png")) is None
    assert thumbnail(str(tmp_path / "absent.png")) is None
