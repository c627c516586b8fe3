"""What a tensor holds, as plain numbers: range, and how many values are no numbers, zero or negative."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

# A value counts as absurd where it is so many times the median size of its tensor's other values, and so large by
# itself (our choice: standardised inputs stay below 100, pixels at 255, and float32 squares overflow from 1.8e19 on).
ABSURD_RATIO, ABSURD_SIZE = 1e6, 1e6
# Places that are listed of what is bad in a batch.
LISTED = 20


def is_bad(values: Tensor) -> bool:
    """Whether a floating-point tensor holds NaN or infinity; False for other dtypes."""
    return is_float(values) and values.numel() > 0 and not bool(torch.isfinite(values).all())


def has_nan(values: Tensor) -> bool:
    """Whether a floating-point tensor holds NaN."""
    return is_float(values) and bool(torch.isnan(values).any())


def is_float(values: Tensor) -> bool:
    """Whether there are real or complex numbers in it that can be looked at: no sparse, no quantised tensor."""
    return (values.is_floating_point() or values.is_complex()) and values.layout == torch.strided


def is_mask(values: Tensor) -> bool:
    """Whether these are 0 for what may be seen, and minus infinity for the rest: bad on purpose."""
    hidden = values == -torch.inf
    return bool(hidden.any()) and bool((hidden | (values == 0)).all())


@torch.no_grad()
def describe(values: Tensor) -> dict[str, Any]:
    """shape, dtype, num; low, high of the finite values, None where there is none; nan, inf, zeros, negatives counted.

    all_low: rows along the last axis that are -inf alone, which no softmax can divide. Complex numbers by their size.
    """
    told: dict[str, Any] = {"shape": list(values.shape), "dtype": str(values.dtype).removeprefix("torch.")}
    flat = (values.abs() if values.is_complex() else values).detach()
    flat = flat.float() if flat.dtype in (torch.float16, torch.bfloat16) else flat
    counts: dict[str, Any] = {"num": flat.numel(), "low": None, "high": None, "nan": 0, "inf": 0, "zeros": 0}
    if flat.numel() and flat.dtype != torch.bool and flat.layout == torch.strided:
        finite = torch.isfinite(flat)
        kept = flat[finite]
        counts["nan"] = int(torch.isnan(flat).sum())
        counts["inf"] = int((~finite).sum()) - counts["nan"]
        counts["zeros"], counts["negatives"] = int((flat == 0).sum()), int((flat < 0).sum())
        if kept.numel():
            counts["low"], counts["high"] = float(kept.min()), float(kept.max())
        if flat.ndim and counts["inf"]:
            counts["all_low"] = int((flat == -torch.inf).all(dim=-1).sum())
    return {**told, **counts}


def largest(values: Tensor) -> float:
    """The size of the largest finite value; 0 where there is none."""
    finite = values.detach().abs().float()
    finite = finite[torch.isfinite(finite)]
    return float(finite.max()) if finite.numel() else 0.0


@torch.no_grad()
def bad_places(values: Tensor) -> dict[str, Any] | None:
    """Which examples (along the first axis) hold what is not finite, or is absurdly large; None where all is sound.

    values: [B, …]. Gives kind ("nan", "inf" or "absurd"), dtype, num, places (of examples, up to 20), columns (of a
    tensor [B, C]), value (the first one), usual (the median size of the others).
    """
    if not is_float(values) or not values.numel() or values.ndim == 0:
        return None
    sizes = values.detach().abs().double()
    finite = torch.isfinite(sizes)
    usual = float(sizes[finite].median()) if bool(finite.any()) else 0.0
    bad = ~finite
    kind = "nan" if bool(torch.isnan(sizes).any()) else "inf"
    if not bool(bad.any()):
        bad, kind = sizes > max(ABSURD_SIZE, ABSURD_RATIO * usual), "absurd"
        if not bool(bad.any()):
            return None
    where = bad.nonzero().tolist()
    places = sorted({place[0] for place in where})
    columns = sorted({place[1] for place in where}) if values.ndim == 2 else []
    return {
        "kind": kind, "dtype": str(values.dtype).removeprefix("torch."), "num": len(where),
        "places": places[:LISTED], "num_places": len(places), "columns": columns[:LISTED],
        "value": float(values[bad][0].real), "usual": usual,
    }  # fmt: skip
