"""RUN528: answers that change with the length to which a batch was padded."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop

LEAST = 0.2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model that answers otherwise where only padding behind the sequences was cut off."""
    for row in of(rows, "padded"):
        if not row.get("refused") and row["difference"] > LEAST:
            what = (f"answers to {row['num']} sequences change by up to {row['difference']:.2g} deviations when "
                    f"{row['places']} places of padding behind them are cut off")
            yield found(RULE, what, where=at(row),
                        evidence={"difference": row["difference"], "places": row["places"], "sequences": row["num"]})
            return


def _padded(difference: float) -> list[dict[str, object]]:
    return toy_loop(more=[
        {"event": "padded", "step": 20, "root": 0, "num": 16, "places": 9, "difference": difference}])  # fmt: skip


RULE = Rule(
    code="RUN528",
    name="depends_on_padding",
    severity="warning",
    summary="the answer depends on how far the batch was padded",
    why="The same text gets another answer beside a longer one: what is read out, or averaged, is padding in part.",
    fix="RNN: pack_padded_sequence and the last hidden state, or gather at length - 1. Attention: "
        "src_key_padding_mask. Pooling: a mean over real places alone.",
    source="torch 2.14 documentation, pack_padded_sequence; MultiheadAttention: key_padding_mask",
    check=check,
    trips=lambda: _padded(1.4),
    passes=lambda: _padded(0.01),
    wrong_when="the number of empty places is itself information",
    threshold=f"{LEAST:g} standard deviations of the answers: starting point",
)
