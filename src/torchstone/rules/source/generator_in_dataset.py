"""COD311: a dataset keeps a numpy generator, which each worker copies."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, made_alone, sketch
from torchstone.parts.source.value import alternatives
from torchstone.rules._source import at

MAKES = ("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator", "random.Random",
         "torch.Generator")
DRAWS = ("random", "normal", "standard_normal", "integers", "randint", "choice", "uniform", "permutation", "rand",
         "randn", "shuffle", "sample", "randrange", "gauss", "beta", "binomial", "poisson")


def check(source: Source) -> Iterator[Finding]:
    """One finding per class that draws from a generator made in __init__, where a loader has several workers."""
    if not _has_workers(source):
        return
    for definition in source.classes:
        names = {base.rpartition(".")[2] for base in definition.base_names()}
        methods = [one for one in ("__getitem__", "__call__") if one in definition.methods]
        if not methods or names & {"Module", "LightningModule", "Sampler", "IterableDataset"}:
            continue
        instance, _ = made_alone(source, definition)
        for name, value in instance.fields.items():
            is_made = any(one.is_call(*MAKES) for one in alternatives(value))
            if is_made and _draws(definition.methods[methods[0]].node, name) and value.path == source.path:
                yield found(RULE, f"self.{name} is copied to each worker, which all draw the same numbers from it",
                            where=at(value), evidence={"class": definition.name})


def _has_workers(source: Source) -> bool:
    for _, moment in source.moments():
        workers = moment.value.given("num_workers", 5) if moment.value.name.rpartition(".")[2] == "DataLoader" else None
        if workers is not None and not workers.is_const(0, None):
            return True
    return False


def _draws(node: ast.AST, field: str) -> bool:
    return any(isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in DRAWS
               and ast.unparse(one.func.value) == f"self.{field}" for one in ast.walk(node))


DATASET = """
import numpy as np
from torch.utils.data import DataLoader, Dataset
class Noisy(Dataset):
    def __init__(self, rows):
        self.rows, self.rng = rows, np.random.default_rng(0)
    def __getitem__(self, index):
        return self.rows[index] + self.rng.normal()
loader = DataLoader(Noisy(rows), num_workers=2)
"""
RULE = Rule(
    code="COD311",
    name="source_generator_in_dataset",
    severity="warning",
    summary="a random generator kept in a dataset or transform, and several workers",
    why="Workers get copies of the generator in one state: with k workers each number is drawn k times, in each epoch.",
    fix="Make the generator in __getitem__ from (seed, epoch, index), or draw from torch, which seeds each worker.",
    source="measured with torch 2.14: numpy.random.Generator in a dataset repeats in all workers; pytorch issue 5059",
    check=check,
    trips=lambda: sketch(DATASET),
    passes=lambda: sketch(DATASET.replace("num_workers=2", "num_workers=0")),
    wrong_when="worker_init_fn makes the generator anew in each worker",
)
