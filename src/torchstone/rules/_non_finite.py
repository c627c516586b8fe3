"""Why a loss or gradient is not finite, told from an autopsy: broken data, a run that blew up, overflow, an operation.

docs/post-mortem.md lists the keys of an autopsy. It may lack most of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torchstone.rules._numbers import is_number

Kind = Literal["data", "explosion", "overflow", "operation", "unknown"]
# The largest number of each format (IEEE 754-2019; bfloat16 has the exponents of float32).
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028e38}
# Weights beyond this have left what training makes of them: healthy ones stay below about 100 (our choice).
HUGE = 1e6

DATA_FIX = "Mend or drop the broken values before training."
OVERFLOW_FIX = "Use bfloat16 or float32 here, or keep the numbers smaller: normalise inputs and activations."
LOG_FIX = "Keep 0 out of the logarithm: clamp(min=1e-8), or log_softmax, logsigmoid, logsumexp in place of two steps."
DIVISION_FIX = "Add a small number to the divisor, such as 1e-8; a feature that is constant has deviation 0."
ROOT_FIX = "Add a small number below the root, such as 1e-8: the slope of a root is infinite at 0."
SOFTMAX_FIX = "Leave each row something to look at, or mask with a large negative number in place of -inf."
DOMAIN_FIX = "Clamp the operand a little inside of the range in which the function has a value and a slope."
_LOGS = ("log", "log2", "log10")
_ROOTS = ("sqrt", "pow", "linalg_vector_norm", "norm", "std", "cdist", "euclidean_dist")
_DIVISIONS = ("div", "true_divide", "reciprocal", "rsqrt", "addcdiv")
_GROWING = ("exp", "expm1", "exp2", "sinh", "cosh")
_BOUNDED = ("acos", "asin", "atanh", "logit", "erfinv")


@dataclass(frozen=True)
class Cause:
    """kind; what: a clause without a full stop; fix: the smallest mend, None where the rule's own fits better."""

    kind: Kind
    what: str
    fix: str | None = None


def cause(autopsy: Mapping[str, Any], growth: str | None = None) -> Cause:
    """The likeliest cause, with its numbers. growth: how the run had grown before, where it had."""
    data = _of_data(autopsy)
    if data is not None and growth is None:
        return data
    born = _born(autopsy)
    weights = autopsy.get("weights") or {}
    is_huge = is_number(weights.get("largest")) and weights["largest"] > HUGE
    if growth is not None or is_huge:
        size = f"weights up to {weights['largest']:.3g} in {weights['largest_of']}" if is_huge else ""
        parts = [part for part in (growth, size, born.what if born else "") if part]
        return Cause("explosion", f"the run blew up: {'; '.join(parts)}")
    if weights.get("bad") and str(autopsy.get("origin") or "").startswith("weight"):
        return Cause("unknown", f"{weights['num_bad']} weights are not finite already, {weights['bad'][0]} first")
    if born is not None:
        return born
    if autopsy.get("refused"):
        return Cause("unknown", f"the model could not be run once more ({autopsy['refused']})")
    return Cause("unknown", "it did not come again when the batch was run once more")


def place(autopsy: Mapping[str, Any]) -> str:
    """Where it was born: `layer 3.norm (LayerNorm), forward`."""
    layer, kind, phase = autopsy.get("layer"), autopsy.get("class"), autopsy.get("phase")
    if layer is None or phase is None:
        return ""
    if layer == "loss":
        return f"the loss, {phase}"
    named = f"{'after ' if autopsy.get('is_after') else ''}layer {layer}" if layer else "the model's own forward"
    return f"{named}{f' ({kind})' if kind else ''}, {phase}"


def _of_data(autopsy: Mapping[str, Any]) -> Cause | None:
    """Broken values of the batch, where they are what was followed back, or where nothing else was found."""
    origin = str(autopsy.get("origin") or "")
    found = list(autopsy.get("data") or ())
    for one in found:
        if one["kind"] == "inf" and one.get("dtype") == "float16":
            what = f"{_values(one)}{_whose(one)}: it was beyond 65,504, the largest number of float16"
            return Cause("overflow", what, OVERFLOW_FIX)
        if one["kind"] != "absurd" and (origin == one["of"] or not autopsy.get("operation")):
            return Cause("data", f"{_values(one)} came in with the batch{_whose(one)}", DATA_FIX)
    is_finite_birth = autopsy.get("phase") == "forward" and not origin
    for one in found:
        if one["kind"] == "absurd" and is_finite_birth and not _broken_operand(autopsy):
            usual = f", where the others are about {one['usual']:.3g}" if is_number(one.get("usual")) else ""
            what = f"{_values(one)} came in with the batch{_whose(one)}{usual}"
            return Cause("data", what, "Mend or drop the absurd values, or clip the feature, before training.")
    return None


def _values(one: Mapping[str, Any]) -> str:
    name = {"nan": "NaN", "inf": "infinity"}.get(one["kind"]) or f"a value of {one['value']:.3g}"
    return f"{name} in {'the target' if one['of'] == 'target' else one['of']}"


def _whose(one: Mapping[str, Any]) -> str:
    examples = [str(example) for example in one.get("examples") or ()]
    more = int(one.get("num_places", len(examples))) - len(examples[:3])
    listed = ", ".join(examples[:3]) + (f" and {more:,} more" if more > 0 else "")
    columns = [str(name) for name in one.get("column_names") or one.get("columns") or ()]
    named = f", column {', '.join(columns[:3])}" if columns else ""
    return f": {listed}{named}" if examples else named


def _born(autopsy: Mapping[str, Any]) -> Cause | None:
    """What was done to which numbers in the operation where it was born."""
    operation, at = autopsy.get("operation"), place(autopsy)
    if autopsy.get("phase") == "backward":
        return _born_backward(autopsy)
    if operation is None:
        return None
    sentence = _broken_operand(autopsy)
    if sentence is not None:
        return Cause("operation", f"{at}: {sentence[0]}", sentence[1])
    output, wide = autopsy.get("output") or {}, autopsy.get("wide")
    dtype = str(output.get("dtype"))
    if is_number(wide) and dtype in ("float16", "bfloat16") and output.get("inf"):
        largest = LARGEST[dtype]
        return Cause("overflow", f"{at}: {operation} gives {wide:,.6g}, and the largest number of {dtype} is "
                                 f"{largest:,.6g}", OVERFLOW_FIX)
    size = _size(autopsy.get("operands") or ())
    if output.get("inf"):
        limit = f", whose largest number is {LARGEST[dtype]:,.6g}" if dtype == "float16" else ""
        what = f"{at}: {operation} of finite numbers up to {size:.3g} gives infinity in {dtype}{limit}"
        return Cause("overflow", what, OVERFLOW_FIX)
    return Cause("operation", f"{at}: {operation} of finite numbers up to {size:.3g} gives NaN in {dtype}")


def _broken_operand(autopsy: Mapping[str, Any]) -> tuple[str, str] | None:
    """What an operation was given that it has no value for, and the mend."""
    operands: Sequence[Mapping[str, Any]] = autopsy.get("operands") or ()
    operation = str(autopsy.get("operation") or "").lstrip("_").removeprefix("native_").removeprefix("safe_")
    if not operands:
        return None
    first, last = operands[0], operands[-1]
    if operation in _LOGS and (first.get("zeros") or first.get("negatives")):
        which = "0" if first.get("zeros") else "a negative number"
        return f"{operation} of {which} ({_share(first, 'zeros', 'negatives')})", LOG_FIX
    if operation in _DIVISIONS and last.get("zeros"):
        return f"a division by 0 ({_share(last, 'zeros')})", DIVISION_FIX
    if operation in ("sqrt", "rsqrt") and first.get("negatives"):
        return f"the root of a negative number ({_share(first, 'negatives')})", ROOT_FIX
    if operation == "pow" and (first.get("zeros") or first.get("negatives")):
        return f"a power of 0 or of a negative number ({_share(first, 'zeros', 'negatives')})", ROOT_FIX
    if operation in ("softmax", "log_softmax") and first.get("all_low"):
        return f"a softmax over nothing: {first['all_low']} rows hold -inf alone", SOFTMAX_FIX
    if operation in _GROWING and is_number(first.get("high")):
        return f"{operation} of {first['high']:.4g} is beyond {first['dtype']}", OVERFLOW_FIX
    if operation in _BOUNDED:
        return f"{operation} outside of its range ({first.get('low')} … {first.get('high')})", DOMAIN_FIX
    if operation.startswith("nll_loss") or operation == "mean":
        return "a mean over nothing: no target counts", "Leave out batches in which every target is ignored."
    if operation in ("std", "var"):
        return "the deviation of a single value", "Take it over two values or more, or with correction=0."
    return None


def _born_backward(autopsy: Mapping[str, Any]) -> Cause | None:
    operation, at = str(autopsy.get("operation") or ""), place(autopsy)
    gradients = autopsy.get("gradients") or {}
    named = {str(one.get("name")): one for one in autopsy.get("operands") or ()}
    if not operation:
        if gradients.get("num_bad"):
            which = ", ".join(gradients["bad"][:3])
            return Cause("unknown", f"{at}: the gradients of {gradients['num_bad']} parameters are bad: {which}")
        return None
    operand = named.get("result") or named.get("self") or {}
    if operation in _ROOTS and (operand.get("zeros") or operand.get("nan")):
        which, name = ("0", "zeros") if operand.get("zeros") else ("a negative number", "nan")
        return Cause("operation", f"{at}: the slope of {operation} at {which} ({_share(operand, name)})", ROOT_FIX)
    divisor = named.get("other") or operand
    if operation in _DIVISIONS and divisor.get("zeros"):
        return Cause("operation", f"{at}: the slope of a division by 0 ({_share(divisor, 'zeros')})", DIVISION_FIX)
    if operation in _LOGS and operand.get("zeros"):
        return Cause("operation", f"{at}: the slope of {operation} at 0 ({_share(operand, 'zeros')})", LOG_FIX)
    if operation in _BOUNDED:
        return Cause("operation", f"{at}: the slope of {operation} at the end of its range", DOMAIN_FIX)
    output = autopsy.get("output") or {}
    if str(output.get("dtype")) in ("float16", "bfloat16"):
        size = autopsy.get("gradient")
        came = f" of gradients up to {size:.3g}" if is_number(size) else ""
        return Cause("overflow", f"{at}: the gradient of {operation}{came} is beyond {output['dtype']}", OVERFLOW_FIX)
    likely = " (seen from the weights that it spoilt)" if autopsy.get("is_inferred") else ""
    return Cause("operation", f"{at}: the gradient of {operation} is not finite{likely}", ROOT_FIX
                 if operation in _ROOTS else None)  # fmt: skip


def _share(operand: Mapping[str, Any], *names: str) -> str:
    count = sum(int(operand.get(name) or 0) for name in names)
    return f"{count:,} of {int(operand.get('num') or 0):,} values"


def _size(operands: Sequence[Mapping[str, Any]]) -> float:
    ends = [abs(one[end]) for one in operands for end in ("low", "high") if is_number(one.get(end))]
    return max(ends, default=0.0)
