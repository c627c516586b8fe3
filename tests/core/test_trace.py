"""The trace keeps whole rows only, whatever happens to the process."""

import json
import math
import time

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.trace import TraceWriter, read_trace, truncate


def _written(path, rows):
    writer = TraceWriter(path)
    for row in rows:
        writer.append(row)
    writer.close()


def test_rows_come_back_as_they_went_in(tmp_path):
    rows = [{"event": "start", "step": 0, "text": "Größe\n<b>"}, {"event": "step", "step": 1, "loss": 0.1 + 0.2}]
    _written(tmp_path / "deep" / "trace.jsonl", rows)
    assert read_trace(tmp_path / "deep" / "trace.jsonl") == rows


def test_nan_and_infinity_become_null_and_the_file_is_strict_json(tmp_path):
    path = tmp_path / "trace.jsonl"
    _written(path, [{"loss": math.nan, "metrics": {"f1": math.inf, "n": [1, -math.inf]}}])
    row = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert row == {"loss": None, "metrics": {"f1": None, "n": [1, None]}}


def test_nothing_is_written_before_the_count_is_reached_and_all_of_it_then(tmp_path):
    path = tmp_path / "trace.jsonl"
    writer = TraceWriter(path, flush_every=3, flush_seconds=1e9)
    writer.append({"step": 1})
    writer.append({"step": 2})
    assert read_trace(path) == []
    writer.append({"step": 3})
    assert [row["step"] for row in read_trace(path)] == [1, 2, 3]
    writer.close()
    writer.close()


def test_a_row_is_written_when_the_time_is_up(tmp_path):
    writer = TraceWriter(tmp_path / "t", flush_every=10**9, flush_seconds=0.02)
    time.sleep(0.03)
    writer.append({"step": 1})
    assert read_trace(tmp_path / "t") == [{"step": 1}]
    writer.close()


@pytest.mark.parametrize("cut", range(1, 22))
def test_a_torn_last_line_is_left_out_and_the_next_writer_goes_on_behind_the_whole_ones(tmp_path, cut):
    path = tmp_path / "trace.jsonl"
    _written(path, [{"step": 1}, {"step": 2, "loss": 0.5}])
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    before = read_trace(path)
    assert before == [{"step": 1}, {"step": 2, "loss": 0.5}][: 1 + (cut == 1)]
    _written(path, [{"step": 3}])
    assert read_trace(path) == [*before, {"step": 3}]


def test_zeros_that_a_power_cut_left_behind_are_a_torn_line(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b'{"step": 1}\n' + b"\0" * 100)
    assert read_trace(path) == [{"step": 1}]
    _written(path, [{"step": 2}])
    assert read_trace(path) == [{"step": 1}, {"step": 2}]


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text('{"step": 1}\n{"step": 2, "lo\n{"step": 3}\n')
    with pytest.raises(StoneError) as caught:
        read_trace(path)
    assert caught.value.where == f"{path}:2"


def test_a_missing_trace_is_a_plain_error(tmp_path):
    with pytest.raises(StoneError, match="No such file"):
        read_trace(tmp_path / "no.jsonl")


def test_truncating_keeps_what_happened_up_to_the_step(tmp_path):
    path = tmp_path / "trace.jsonl"
    rows = [
        {"event": "start", "step": 0},
        {"event": "note", "text": "early"},
        {"event": "step", "step": 1},
        {"event": "step", "step": 2},
        {"event": "step", "step": 3},
        {"event": "checkpoint", "step": 2},
        {"event": "finding", "code": "RUN1", "where": {"step": 3}},
        {"event": "finding", "code": "RUN2", "where": {"step": 1}},
        {"event": "note", "text": "late"},
    ]
    _written(path, rows)
    with path.open("a") as file:
        file.write('{"torn')
    truncate(path, after_step=2)
    assert read_trace(path) == [rows[i] for i in (0, 1, 2, 3, 5, 7)]
    assert list(tmp_path.iterdir()) == [path]


def test_truncating_at_the_last_step_leaves_the_file_alone(tmp_path):
    path = tmp_path / "trace.jsonl"
    _written(path, [{"step": 1}, {"step": 2}])
    before = path.stat().st_ino, path.read_bytes()
    truncate(path, after_step=2)
    assert (path.stat().st_ino, path.read_bytes()) == before
    truncate(tmp_path / "absent.jsonl", after_step=2)
    assert not (tmp_path / "absent.jsonl").exists()


def test_where_the_disk_is_full_no_half_line_is_left_and_the_rows_wait(tmp_path, monkeypatch):
    import errno
    import os

    path = tmp_path / "trace.jsonl"
    writer = TraceWriter(path, flush_every=10**9, flush_seconds=1e9)
    writer.append({"step": 1})
    writer.flush()
    writer.append({"step": 2})
    real = os.write
    calls = []

    def nearly_full(handle, data):
        calls.append(1)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, bytes(data[:4]))

    monkeypatch.setattr(os, "write", nearly_full)
    with pytest.raises(StoneError, match="disk is full"):
        writer.flush()
    monkeypatch.setattr(os, "write", real)
    assert path.read_text() == '{"step": 1}\n'
    writer.close()
    assert read_trace(path) == [{"step": 1}, {"step": 2}]


def test_an_append_costs_less_than_three_microseconds(tmp_path):
    writer = TraceWriter(tmp_path / "t", flush_every=10**9, flush_seconds=1e9)
    row = {"event": "step", "step": 1, "loss": 0.5}
    best = math.inf
    for _ in range(5):
        start = time.process_time()
        for _ in range(20_000):
            writer.append(row)
        best = min(best, (time.process_time() - start) / 20_000)
        writer._rows.clear()
    writer.close()
    assert best < 3e-6
