"""The planned remedy for rare classes against plain cross-entropy: five seeds, one test for pairs.

The whole comparison, over every KEEL set above a ratio of 20, is benchmarks/known_imbalance.py. Here is one of them:
abalones of 17 rings against those of 7 to 10 (Nash et al. 1994, UCI Machine Learning Repository, CC BY 4.0; the choice
of rows is KEEL's, Alcalá-Fdez et al. 2011).
"""

from __future__ import annotations

import gzip
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from scipy import stats

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
HERE = Path(__file__).resolve().parent


def benchmark() -> ModuleType:
    """The benchmark as a module: it trains and judges as a user would."""
    path = HERE.parents[1] / "benchmarks" / "known_imbalance.py"
    spec = importlib.util.spec_from_file_location("known_imbalance", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["known_imbalance"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_planned_remedy_beats_plain_cross_entropy_on_abalones_of_17_rings() -> None:
    known = benchmark()
    text = gzip.decompress((HERE / "data" / "abalone_17_rings.csv.gz").read_bytes()).decode("ascii")
    data = known.KeelSet("abalone", [line.split(",") for line in text.splitlines()])
    assert len(data.rows) == 2338
    assert data.ratio > 20
    plain, planned = known.compared(data, [known.PLAIN, known.PLANNED], range(5))
    p = stats.ttest_rel(planned, plain, alternative="greater").pvalue
    assert p < 0.05, f"plain {plain.round(3)}, planned {planned.round(3)}, p {p:.3g}"
    assert planned.mean() > plain.mean() + 0.05, f"plain {plain.round(3)}, planned {planned.round(3)}"
