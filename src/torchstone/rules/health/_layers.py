"""What the layers say beside another finding: gradients that fade or swell from layer to layer, and saturated outputs.

Evidence only: gates saturate by design, and norms make gradients of all sizes harmless.
"""

from __future__ import annotations

from typing import Any

from torchstone.rules._watched import Rows, of

# Gradient over weights of the first matrix and of the last: apart by this factor the profile is told.
APART = 1e4
# Share of a layer's outputs at the ends of its range, over so many samples.
SATURATED, SAMPLES = 0.9, 2


def hints(rows: Rows) -> tuple[str, dict[str, Any]]:
    """A clause for the sentence of a finding, and evidence; both empty where the layers say nothing."""
    said, evidence = [], {}
    for row in of(rows, "profile")[-1:]:
        shares = [g / w for g, w in zip(row["grads"], row["weights"], strict=True) if w > 0]
        if len(shares) == len(row["layers"]) >= 2 and shares[0] > 0 and shares[-1] > 0:
            factor = shares[-1] / shares[0]
            if factor > APART or factor < 1 / APART:
                way = "vanish towards the input" if factor > 1 else "explode towards the input"
                said.append(f"gradients {way}: as a share of the weights {shares[0]:.2g} at {row['layers'][0]}, "
                            f"{shares[-1]:.2g} at {row['layers'][-1]}")
                evidence["profile"] = dict(zip(row["layers"][:20], shares[:20], strict=False))
    stuck = [row for row in of(rows, "edges") if row["samples"] >= SAMPLES and (row.get("share") or 0) >= SATURATED]
    if stuck:
        row = stuck[0]
        said.append(f"{row['share']:.0%} of the outputs of {row['layer']} are at the ends of their range")
        evidence["saturated"] = {one["layer"]: one["share"] for one in stuck[:20]}
    return "".join(f"; {one}" for one in said), evidence
