"""COD409: a pickle is read, which may run code that it holds."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at

NAMES = tuple(f"{module}.{name}" for module in ("pickle", "dill", "cloudpickle", "joblib", "_pickle")
              for name in ("load", "loads"))


def check(source: Source) -> Iterator[Finding]:
    """One finding per file that reads pickles, at its first place, and per numpy.load told to."""
    for _, moment in source.moments(*NAMES):
        yield found(RULE, f"{moment.value.name} runs what the file says", where=at(moment))
        return
    for _, moment in source.moments("numpy.load"):
        given = moment.value.given("allow_pickle", 2)
        if given is not None and given.is_const(True):
            yield found(RULE, "numpy.load is allowed to unpickle", where=at(moment))
            return


RULE = Rule(
    code="COD409",
    name="source_unpickled",
    severity="advice",
    summary="a pickle is read",
    why="A file of others can run anything on this machine when it is loaded.",
    fix="Keep tensors as safetensors, arrays as npz or parquet, and settings as JSON.",
    source="Python documentation, pickle: only unpickle data you trust",
    check=check,
    trips=lambda: sketch("from pickle import load\nrows = load(open('a.bin', 'rb'))\n"),
    passes=lambda: sketch("from json import load\nrows = load(open('a.json'))\n"),
    wrong_when="the file is your own",
)
