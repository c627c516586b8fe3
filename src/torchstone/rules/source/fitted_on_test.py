"""COD302: a transformer is fitted anew on held-out rows."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._source import at

SPLIT = "sklearn.model_selection.train_test_split"


def check(source: Source) -> Iterator[Finding]:
    """One finding per fit_transform of a held-out part of train_test_split by what was fitted on the other part."""
    for play in source.plays:
        fits = play.calls(".fit_transform", ".fit")
        for moment in fits:
            if _has_no_transform(moment.value):
                continue
            if moment.path != source.path or not moment.is_call(".fit_transform") or _part(moment.value) != 1:
                continue
            before = [one for one in fits if one.index < moment.index and one.value.receiver is moment.value.receiver]
            if any(_part(one.value) == 0 for one in before):
                yield found(RULE, "what was fitted on training rows is fitted anew on held-out rows", where=at(moment))


def _has_no_transform(fit: Value) -> bool:
    """Embeddings that can only be fitted, such as TSNE."""
    return any(one.name.startswith("sklearn.manifold.") for one in alternatives(fit.receiver))


def _part(fit: Value) -> int | None:
    """Which part of a split is fitted: 0 training rows, 1 held-out rows; None where it is neither."""
    given = alternatives(fit.given("X", 0))
    one = given[0] if len(given) == 1 else None
    if one is None or one.kind != "item" or one.receiver is None or not one.receiver.is_call(SPLIT):
        return None
    number = one.args[0].const
    return number % 2 if isinstance(number, int) and number >= 0 else None


RULE = Rule(
    code="COD302",
    name="fitted_on_test",
    severity="error",
    summary="a scaler fitted again on the test rows",
    why="Test rows are then scaled by their own mean and width: the model sees other numbers than in training.",
    fix="Call transform, not fit_transform, on held-out rows.",
    source="scikit-learn documentation, Common pitfalls: inconsistent preprocessing",
    check=check,
    trips=lambda: sketch(
        "from sklearn.preprocessing import StandardScaler\n"
        "from sklearn.model_selection import train_test_split\n"
        "a, b, c, d = train_test_split(X, y)\n"
        "s = StandardScaler()\n"
        "a = s.fit_transform(a)\n"
        "b = s.fit_transform(b)\n"
    ),
    passes=lambda: sketch(
        "from sklearn.preprocessing import StandardScaler\n"
        "from sklearn.model_selection import train_test_split\n"
        "a, b, c, d = train_test_split(X, y)\n"
        "s = StandardScaler()\n"
        "a = s.fit_transform(a)\n"
        "b = s.transform(b)\n"
    ),
    wrong_when="not known to be wrong",
)
