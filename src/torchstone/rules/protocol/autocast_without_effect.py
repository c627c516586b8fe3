"""RUN360: autocast is on, and no matrix product is made in half precision."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop

# Products that must have been seen where the graph was too large to be walked through.
MANY = 8
HALF = ("bfloat16", "float16")


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model whose products all stay in float32 or float64 in a forward pass under autocast."""
    for row in of(rows, "autocast"):
        products = row.get("products") or {}
        num = sum(products.values())
        if row.get("dtype") not in HALF or not num or not set(products) <= {"float32", "float64"}:
            continue
        if not row.get("is_whole") and num < MANY:
            continue
        listed = " and ".join(f"{count} in {dtype}" for dtype, count in sorted(products.items()))
        what = f"autocast to {row['dtype']} is on, but of the model's {num} matrix products none is in it: {listed}"
        yield found(RULE, what + _why(row, products), where=at(row),
                    evidence={"wanted": row["dtype"], "products": dict(products), "device": row.get("device")})


def _why(row: Row, products: dict[str, int]) -> str:
    if row.get("device") not in (row.get("on") or [row.get("device")]):
        return f"; it is on for {' and '.join(row['on'])}, and the model runs on {row['device']}"
    return "; autocast leaves float64 alone" if set(products) == {"float64"} else ""


def _row(**different: object) -> dict[str, object]:
    return {"event": "autocast", "step": 0, "root": 0, "on": ["cuda"], "dtype": "bfloat16", "device": "cuda",
            "products": {"bfloat16": 3}, "is_whole": True, "place": "train.py:14", **different}  # fmt: skip


RULE = Rule(
    code="RUN360",
    name="autocast_without_effect",
    severity="warning",
    summary="autocast is on and changes nothing",
    why="The speed and the memory that half precision was chosen for are not had, and what is measured is float32.",
    fix="Give autocast the device type that the model runs on, keep the weights in float32, and look for "
        "autocast(enabled=False) around the model or for a compiler that does not heed it.",
    source="lightning-thunder#725; torch 2.14 documentation, Automatic Mixed Precision: which operations are cast",
    check=check,
    trips=lambda: toy_loop(more=[_row(products={"float32": 3})]),
    passes=lambda: toy_loop(more=[_row(products={"float32": 1, "bfloat16": 2})]),
    wrong_when="the model turns autocast off for itself on purpose",
    threshold=f"all products of the first forward pass, at least {MANY} where the graph has more than 4,000 nodes",
)
