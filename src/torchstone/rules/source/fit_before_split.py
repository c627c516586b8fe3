"""COD301: a transformer is fitted on all rows before they are split."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.value import Value, alternatives, origins
from torchstone.rules._source import at

# What learns from all rows that it is given; encoders of labels learn only which there are.
LEARNS = ("sklearn.preprocessing.", "sklearn.decomposition.", "sklearn.feature_selection.", "sklearn.impute.",
          "imblearn.under_sampling.")
HARMLESS = ("LabelEncoder", "LabelBinarizer", "MultiLabelBinarizer", "OneHotEncoder", "OrdinalEncoder",
            "FunctionTransformer", "Normalizer", "Binarizer", "PolynomialFeatures")
SPLIT = "sklearn.model_selection.train_test_split"


def check(source: Source) -> Iterator[Finding]:
    """One finding per fit_transform or fit_resample whose rows go into train_test_split afterwards."""
    for _, moment in source.moments(SPLIT):
        for given in moment.value.args:
            fitted = next((one for one in origins(given, _goes_on) if _is_fitted(one)), None)
            if fitted is not None:
                what = f"rows are split after {fitted.name} has learnt from all of them (line {fitted.line})"
                yield found(RULE, what, where=at(moment), evidence={"fit_line": fitted.line, "fit_path": fitted.path})
                break


def _is_fitted(value: Value) -> bool:
    if not value.is_call(".fit_transform", ".fit_resample"):
        return False
    makers = alternatives(value.receiver)
    return bool(makers) and all(
        one.kind == "call" and one.name.startswith(LEARNS) and not one.name.endswith(HARMLESS) for one in makers)


def _goes_on(value: Value) -> bool:
    return not value.is_call(SPLIT)


RULE = Rule(
    code="COD301",
    name="fit_before_split",
    severity="warning",
    summary="scaling, selection or resampling before the split",
    why="What is learnt from held-out rows leaks into training: scores on them are too good.",
    fix="Split first; fit on the training rows alone, best inside a Pipeline.",
    source="scikit-learn documentation, Common pitfalls: data leakage; imbalanced-learn documentation, Common pitfalls",
    check=check,
    trips=lambda: sketch(
        "from sklearn.preprocessing import StandardScaler\n"
        "from sklearn.model_selection import train_test_split\n"
        "X = StandardScaler().fit_transform(X)\n"
        "a, b, c, d = train_test_split(X, y)\n"
    ),
    passes=lambda: sketch(
        "from sklearn.preprocessing import StandardScaler\n"
        "from sklearn.model_selection import train_test_split\n"
        "a, b, c, d = train_test_split(X, y)\n"
        "a = StandardScaler().fit_transform(a)\n"
    ),
    wrong_when="both parts are for training, or nothing is reported of the held-out rows",
)
