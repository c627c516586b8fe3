"""COD307: rows are resampled before they are split."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.value import Value, alternatives, origins
from torchstone.rules._source import at

SPLITS = ("sklearn.model_selection.train_test_split", ".split")


def check(source: Source) -> Iterator[Finding]:
    """One finding per train_test_split of rows that were drawn several times, or made up, before."""
    for _, moment in source.moments("sklearn.model_selection.train_test_split"):
        for given in moment.value.args:
            rows = origins(given, lambda value: not value.is_call(*SPLITS))
            drawn = next((one for one in rows if _is_drawn(one)), None)
            if drawn is not None:
                yield found(RULE, f"rows are split after {drawn.name} repeated some of them (line {drawn.line})",
                            where=at(moment), evidence={"resample_line": drawn.line, "resample_path": drawn.path})
                break


def _is_drawn(value: Value) -> bool:
    if value.is_call("sklearn.utils.resample"):
        replace = value.given("replace")
        return replace is None or replace.is_const(True)
    if value.is_call(".sample"):
        replace = value.given("replace")
        return replace is not None and replace.is_const(True)
    if not value.is_call(".fit_resample", ".fit_sample"):
        return False
    makers = alternatives(value.receiver)
    return bool(makers) and all(one.name.startswith(("imblearn.over_sampling.", "imblearn.combine.")) for one in makers)


RULE = Rule(
    code="COD307",
    name="source_resampled_before_split",
    severity="error",
    summary="resampling before the split",
    why="Copies of a row, or rows made from it, stand on both sides: held-out scores are of rows seen in training.",
    fix="Split first, then resample the training rows alone; in cross-validation, inside imblearn's Pipeline.",
    source="imbalanced-learn documentation, Common pitfalls: data leakage",
    check=check,
    trips=lambda: sketch(
        "from sklearn.utils import resample\nfrom sklearn.model_selection import train_test_split\n"
        "X, y = resample(X, y)\na, b, c, d = train_test_split(X, y)\n"
    ),
    passes=lambda: sketch(
        "from sklearn.utils import resample\nfrom sklearn.model_selection import train_test_split\n"
        "a, b, c, d = train_test_split(X, y)\na, c = resample(a, c)\n"
    ),
    wrong_when="both parts are for training",
)
