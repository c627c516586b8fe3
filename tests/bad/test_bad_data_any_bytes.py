"""Whatever the bytes of a table are, a look gives a dataset or a mistake that a person can read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchstone.core.dataset import SPLITS
from torchstone.core.errors import StoneError
from torchstone.core.recipe import Data
from torchstone.flows.look import look

QUIET = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
CELLS = ["a", "b", "A", "1", "01", "2.5", "NA", "", " ", "inf", "x y z w", "2020-01-02", "1,5", '"', "é"]
ROWS = st.lists(st.lists(st.sampled_from(CELLS), min_size=3, max_size=3), min_size=1, max_size=30)
PLAIN = st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.text(max_size=3)
JSON = PLAIN | st.lists(st.text(max_size=2))


def check(path: Path) -> None:
    try:
        seen = look(Data(path=str(path)))
    except StoneError:
        return
    dataset = seen.dataset
    assert len(set(dataset.ids)) == len(dataset) == len(dataset.target) > 0
    assert set(dataset.split) <= set(SPLITS)
    assert len(dataset.rows("train")) > 0
    for name, kind in dataset.kinds.items():
        values = dataset.inputs[name]
        assert not np.isinf(values).any() if kind == "number" else {type(v) for v in values} <= {str, type(None)}


@QUIET
@given(data=st.binary(max_size=200))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    check(tmp_path / "t.csv")


@QUIET
@given(rows=ROWS, sep=st.sampled_from(",;\t"))
def test_any_cells(tmp_path: Path, rows: list[list[str]], sep: str) -> None:
    text = "\n".join(sep.join(row) for row in [["x", "z", "label"], *rows])
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    check(tmp_path / "t.csv")


@QUIET
@given(rows=st.lists(st.dictionaries(st.sampled_from(["x", "text", "label"]), JSON), min_size=1, max_size=20))
def test_any_json(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    check(tmp_path / "t.jsonl")
