"""RUN355: layers under spectral norm that are evaluated before their norm is known."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, some, toy_loop, toy_model


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model that was run in eval mode while its spectral norms were those of random vectors."""
    for row in of(rows, "model"):
        layers = row.get("unset_norms")
        if layers:
            worst = min(layers, key=lambda one: abs(one["estimate"]) / one["largest"])
            what = (f"{row['class']} is evaluated before it has trained: {some([one['layer'] for one in layers])} "
                    f"{'is' if len(layers) == 1 else 'are'} divided by an estimate that is not there yet, "
                    f"{worst['estimate']:.2g} where the norm is {worst['largest']:.2g}")
            yield found(RULE, what, where=at({"step": 0}, row.get("unset_place"), worst["layer"]),
                        evidence={"layers": len(layers), **worst})  # fmt: skip


def _toy(layers: list[dict[str, object]]) -> list[dict[str, object]]:
    return [toy_model(unset_norms=layers), *toy_loop()[1:]]


RULE = Rule(
    code="RUN355",
    name="spectral_norm_not_set",
    severity="warning",
    summary="spectral norm is evaluated before its first training pass",
    why="torch.nn.utils.spectral_norm estimates the norm in train mode only, one iteration a pass: before that, "
        "evaluation divides by a random number, and its scores are of another model.",
    fix="Use torch.nn.utils.parametrizations.spectral_norm, which begins with 15 iterations, or run a few passes in "
        "train mode first.",
    source="pytorch#51800; torch 2.14 documentation, parametrizations.spectral_norm",
    check=check,
    trips=lambda: _toy([{"layer": "body.0", "estimate": 0.03, "largest": 1.1}]),
    passes=lambda: _toy([]),
    wrong_when="the scores before training are used for nothing",
    threshold="an estimate below 0.8 of the largest singular value",
)
