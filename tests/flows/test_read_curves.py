"""Logs of every kind to curves: holes, restarts, repeats, junk, and the names that are guessed."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from torchstone.core.curves import Curve
from torchstone.core.errors import StoneError
from torchstone.flows.name_curves import Wanted, history_of, tokens
from torchstone.flows.read_curves import read_logs
from torchstone.flows.read_curves_points import LIMIT, Points, ordered
from torchstone.flows.read_curves_table import number

LOGS = Path(__file__).parent / "logs"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def the_series(path: Path) -> dict[str, Curve]:
    (log,) = read_logs(path)
    return log.series


def roles(*names: str, points: int = 9, **wanted: str):
    series = {name: Curve(name, tuple(map(float, range(points))), (0.5,) * points) for name in names}
    history = history_of("run", series, Wanted(**wanted))
    return tuple(curve.name if curve else None for curve in (history.train, history.validation, history.score))


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("accuracy", "loss", "val_accuracy", "val_loss"), ("loss", "val_loss", "val_accuracy")),
        (("train_loss_step", "train_loss_epoch", "val_loss", "val_acc"), ("train_loss_step", "val_loss", "val_acc")),
        (("loss", "grad_norm", "learning_rate", "eval_loss", "eval_f1"), ("loss", "eval_loss", "eval_f1")),
        (("Loss/train", "Loss/test", "Accuracy/test"), ("Loss/train", "Loss/test", "Accuracy/test")),
        (("train/epoch_loss", "validation/epoch_loss", "validation/evaluation_loss_vs_iterations"),
         ("train/epoch_loss", "validation/epoch_loss", None)),
        (("trainLoss", "valLoss", "valAcc"), ("trainLoss", "valLoss", "valAcc")),
        (("train_loss", "eval_loss", "eval_top1", "eval_top5"), ("train_loss", "eval_loss", "eval_top1")),
        (("train_loss", "train_recon_loss", "train_kl_loss"), ("train_loss", None, None)),
        (("val_loss", "test_loss", "loss"), ("loss", "val_loss", None)),
        (("Train Loss", "Validation Loss", "Validation MAE"), ("Train Loss", "Validation Loss", "Validation MAE")),
    ],
)
def test_names_tell_what_a_curve_is(names, found):
    assert roles(*names) == found


def test_names_that_fit_equally_well_are_asked_for():
    with pytest.raises(StoneError, match=r"2 names may be the training loss: train/box_loss, train/cls_loss"):
        roles("train/box_loss", "train/cls_loss")
    assert roles("train/box_loss", "train/cls_loss", train="train/cls_loss")[0] == "train/cls_loss"
    with pytest.raises(StoneError, match="no loss is recognised among 2 names: alpha, beta"):
        roles("alpha", "beta")
    with pytest.raises(StoneError, match="did you mean: --train 'trainloss'"):
        roles("trainloss", train="train_loss")


def test_rewards_mean_that_losses_chase_a_moving_target():
    series = {name: Curve(name, (1.0, 2.0), (1.0, 2.0)) for name in ("loss", "episode_reward")}
    assert history_of("run", series, Wanted()).is_game
    assert tokens("Loss/trainEpoch_1") == ["loss", "train", "epoch", "1"]


def test_percent_becomes_a_share():
    series = {"val_acc": Curve("val_acc", (1.0, 2.0), (50.0, 93.5))}
    history = history_of("run", series, Wanted())
    assert history.score is not None
    assert history.score.values == (0.5, 0.935)


@pytest.mark.parametrize(
    ("cell", "value"),
    [("0.5", 0.5), ("93.5%", 93.5), ("tensor(0.69, device='cuda:0')", 0.69), ("0,25", 0.25), ("1e-3", 1e-3), ("", None),
     ("best", None), (True, None), (None, None), (7, 7.0), ("-inf", -math.inf), (10**400, math.inf)],
)  # fmt: skip
def test_cells_as_people_write_them(cell, value):
    assert number(cell) == value


def test_a_lightning_table_with_holes_is_read_over_its_steps(tmp_path):
    text = "epoch,step,train_loss,val_loss\n0,9,1.5,\n0,10,,1.2\n1,19,1.0,\n1,20,,0.9\n"
    series = the_series(written(tmp_path / "version_0" / "metrics.csv", text).parent.parent)
    assert series["val_loss"].steps == (10.0, 20.0)
    assert series["train_loss"].values == (1.5, 1.0)


def test_tabs_semicolons_repeated_headers_and_a_byte_order_mark(tmp_path):
    tabs = the_series(written(tmp_path / "a.tsv", "\ufeffepoch\tloss\n1\t0.5\n2\t0.4\nepoch\tloss\n3\t0.3\n"))
    commas = the_series(written(tmp_path / "b.csv", "epoch;loss\n1;0,5\n2;0,4\n"))
    assert tabs["loss"].values == (0.5, 0.4, 0.3)
    assert commas["loss"].values == (0.5, 0.4)


def test_nan_as_text_is_a_hole_where_numbers_follow_and_a_fault_where_none_does(tmp_path):
    rows = "".join(f"{e},{1 / (e + 1)},{'nan' if e % 2 else 0.5}\n" for e in range(20))
    holes = the_series(written(tmp_path / "a.csv", "epoch,loss,val_loss\n" + rows))
    assert len(holes["val_loss"]) == 11  # the last cell stays: nothing follows it
    rows = "".join(f"{e},{1.0 if e < 15 else 'NaN'}\n" for e in range(20))
    fault = the_series(written(tmp_path / "b.csv", "epoch,loss\n" + rows))
    assert sum(map(math.isnan, fault["loss"].values)) == 5


def test_trainer_state_histories_and_json_lines(tmp_path):
    state = {"log_history": [{"loss": 2.0, "step": 10, "epoch": 0.5}, {"eval_loss": 1.8, "step": 20, "epoch": 1.0},
                             {"loss": 1.0, "step": 20, "epoch": 1.0}, {"train_loss": 1.5, "step": 20, "epoch": 1.0}]}
    written(tmp_path / "out" / "checkpoint-20" / "trainer_state.json", json.dumps(state))
    assert the_series(tmp_path / "out")["loss"].steps == (10.0, 20.0)
    lists = the_series(written(tmp_path / "h.json", json.dumps({"loss": [3, 2, 1], "val_loss": [3, 2, 2]})))
    assert lists["val_loss"].values == (3.0, 2.0, 2.0)
    lines = '{"step": 1, "train": {"loss": 0.5}}\nTraining…\n{"step": 2, "train": {"loss": 0.4}}\n{"step": 3, "tr'
    (log,) = read_logs(written(tmp_path / "l.jsonl", lines))
    assert log.series["train/loss"].values == (0.5, 0.4)
    assert "2 lines are no JSON object, the first is line 2" in log.notes[0]


def test_two_halves_of_a_tensorboard_run_are_one_run():
    (keras,) = read_logs(LOGS / "keras")
    assert set(keras.series) == {"train/epoch_loss", "train/epoch_accuracy", "validation/epoch_loss",
                                 "validation/epoch_accuracy"}  # fmt: skip
    (added,) = read_logs(LOGS / "added")
    assert set(added.series) == {"train/Loss", "validation/Loss"}


def test_runs_in_subfolders_stay_apart_and_a_torn_file_is_told(tmp_path):
    for name in ("one", "two"):
        shutil.copytree(LOGS / "plain", tmp_path / name)
    torn = next((tmp_path / "two").iterdir())
    torn.write_bytes(torn.read_bytes()[:-5])
    one, two = read_logs(tmp_path)
    assert Path(one.name).name == "one"
    assert len(one.series["Loss/train"]) == 12
    assert "cut off" in two.notes[0]


def mlflow_store(path: Path, head: str = "") -> Path:
    """The tables and the columns of MLflow 3.17 that are read, and one run whose loss becomes NaN, then infinite."""
    with closing(sqlite3.connect(path)) as store:
        store.executescript(head or """
            create table experiments (experiment_id integer primary key, name varchar(256));
            create table runs (run_uuid varchar(32) primary key, name varchar(250), start_time bigint,
                               lifecycle_stage varchar(20), experiment_id integer);
            create table metrics (key varchar(250), value float, timestamp bigint, run_uuid varchar(32), step bigint,
                                  is_nan boolean);
            insert into experiments values (1, 'digits');
            insert into runs values ('a1', 'first', 5, 'active', 1), ('b2', 'gone', 6, 'deleted', 1);
            insert into metrics values ('train_loss', 0.5, 10, 'a1', 0, 0), ('train_loss', 0.0, 11, 'a1', 1, 1),
                ('train_loss', 1.7976931348623157e308, 12, 'a1', 2, 0), ('train_loss', 0.5, 10, 'b2', 0, 0);
        """)
    return path


def test_a_database_of_mlflow_is_read_and_not_written(tmp_path):
    path = mlflow_store(tmp_path / "mlflow.db")
    before = path.read_bytes()
    (log,) = read_logs(tmp_path)
    values = log.series["train_loss"].values
    assert log.name.endswith("mlflow.db:digits/first")
    assert (values[0], math.isnan(values[1]), values[2]) == (0.5, True, math.inf)
    assert path.read_bytes() == before
    with pytest.raises(StoneError, match="not the database of MLflow"):
        read_logs(mlflow_store(tmp_path / "other.db", "create table things (x integer);"))


def test_a_run_folder_of_mlflow(tmp_path):
    run = tmp_path / "mlruns" / "123" / "abc"
    written(run / "meta.yaml", "run_id: abc\n")
    written(run / "metrics" / "val" / "loss", "1796190552280 0.9 0\n1796190552281 0.7 1\n")
    for path in (tmp_path / "mlruns", tmp_path / "mlruns" / "123", run):
        assert the_series(path)["val/loss"].values == (0.9, 0.7)
    written(run / "metrics" / "loss", "1 0.9 0\njunk\n")
    with pytest.raises(StoneError, match="no line of a metric") as caught:
        read_logs(run)
    assert str(caught.value.where).endswith("loss:2")


def test_a_resumed_log_keeps_the_new_points_and_a_restarted_one_the_last_attempt():
    steps, values, notes = ordered([1, 2, 3, 4, 3, 4, 5], [1, 2, 3, 4, 30, 40, 50])
    assert (steps, values) == ([1, 2, 3, 4, 5], [1, 2, 30, 40, 50])
    assert "logged again" in notes[0]
    steps, values, notes = ordered([0, 1, 2, 0, 1], [5, 4, 3, 50, 40])
    assert (steps, values) == ([0, 1], [50, 40])
    assert "starts anew 1 times" in notes[0]
    shuffled = list(range(100))
    random.Random(0).shuffle(shuffled)
    assert ordered(list(map(float, shuffled)), list(map(float, shuffled)))[1] == list(map(float, range(100)))
    assert ordered([7.0, 7.0, 7.0], [3, 2, 1])[0] == [0, 1, 2]
    assert ordered([1, 1, 1, 2, 2], [5, 4, 3, 2, 1])[1] == [5, 4, 3, 2, 1]  # rows of one epoch stay


def test_millions_of_points_stay_bounded_and_keep_the_first_nan():
    points = Points()
    for step in range(1_000_001):
        points.add(float(step), math.nan if step == 777_777 else 1.0)
    curve, notes = points.curve("loss")
    assert len(curve) <= LIMIT + 1
    assert [step for step, value in zip(curve.steps, curve.values, strict=True) if math.isnan(value)] == [777_777.0]
    assert "1,000,001 points" in notes[0]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"\n \n", "the file is empty"),
        ("a.csv", b"1,2\n3,4\n5,6\n", "names no columns"),
        ("a.csv", b"epoch,loss\n", "names no columns|no column of numbers"),
        ("a.csv", b"name,what\na,b\nc,d\n", "no column of numbers"),
        ("a.csv", bytes(range(256)) * 40, "binary|archive|no log"),
        ("a.json", b'{"a": 1', "not JSON"),
        ("a.json", b"[" * 100_000, "not JSON"),
        ("a.json", b"{}", "holds no list of numbers"),
        ("a.json", b'"text"', "holds no list of numbers"),
        ("a.csv", b"epoch,loss\n1,low\n2,lower\n", "no column of numbers in 2 rows beside 'epoch'"),
        ("trace.jsonl", b'{"event": "step", "step": "x", "loss": 1}\n', "step 'x', which is no number"),
        ("a.jsonl", b'{"a": "x"}\n', "no column of numbers"),
        ("events.out.tfevents.1.host", b"junk that is long enough", "wrong checksum"),
        ("events.out.tfevents.1.host", b"", "no scalar in 1 event files"),
        ("a.pt", b"PK\x03\x04" + b"\0" * 100, "archive"),
    ],
)
def test_what_is_no_log_is_refused_with_a_sentence(tmp_path, name, data, said):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(StoneError, match=said):
        read_logs(tmp_path / name)


def test_lines_of_others_that_name_an_event_are_no_trace(tmp_path):
    epochs = [{"event": "step", "epoch": number, "loss": 1 / number, "val_loss": 0.3} for number in range(1, 12)]
    rows = [{"event": "starting"}, *epochs]
    for first in (0, 1):
        text = "".join(json.dumps(row) + "\n" for row in rows[first:])
        (log,) = read_logs(written(tmp_path / "log.jsonl", text))
        assert log.kind == "JSON lines"
        assert set(log.series) == {"loss", "val_loss"}


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "loss.csv")
    with pytest.raises(StoneError, match="a pipe or a device"):
        read_logs(tmp_path / "loss.csv")


def test_any_bytes_end_in_curves_or_a_sentence(tmp_path):
    generator = random.Random(3)
    seeds = [b"epoch,loss,val_loss\n1,0.5,0.4\n2,nan,\n", b'{"step": 1, "loss": 0.5}\n', b"1 2 3\n",
             next((LOGS / "plain").iterdir()).read_bytes()]  # fmt: skip
    for turn in range(200):
        data = bytearray(generator.choice(seeds) * generator.randrange(1, 4))
        for _ in range(generator.randrange(1, 12)):
            data[generator.randrange(len(data))] = generator.randrange(256)
        path = tmp_path / f"{turn}{generator.choice(['.csv', '.jsonl', '.json', '.tfevents', '.log'])}"
        path.write_bytes(bytes(data))
        with contextlib.suppress(StoneError):
            for log in read_logs(path):
                history_of(log.name, log.series, Wanted())


def test_a_folder_without_a_log_and_no_folder_at_all(tmp_path):
    with pytest.raises(StoneError, match="no log of a training is in this folder"):
        read_logs(tmp_path)
    with pytest.raises(StoneError, match="there is no such file"):
        read_logs(tmp_path / "nothing")
