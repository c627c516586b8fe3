"""RUN607: a class that is never the answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._pictures import bars
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_pass

PASSES, EXAMPLES, SHARE = 3, 10, 0.02
# Share of a run, where it is known, that may still be to come.
LEFT = 0.5


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per evaluation loader with a class that three passes in a row, up to the last, never answered."""
    passes: dict[int, list[Row]] = defaultdict(list)
    for row in of(rows, "pass"):
        if row.get("answers") and row["first_step"] > 0:
            passes[row["loader"]].append(row)
    for group in passes.values():
        last = group[-PASSES:]
        if len(last) < PASSES or last[-1].get("left", 0) > LEFT:
            continue
        num, truth = sum(last[-1]["truth"]), last[-1]["truth"]
        missing = [
            label for label, count in enumerate(truth)
            if count >= max(EXAMPLES, SHARE * num) and all(row["answers"][label] == 0 for row in last)
        ]  # fmt: skip
        if missing:
            names = last[-1].get("classes") or [str(label) for label in range(len(truth))]
            named = ", ".join(f"{names[label]} ({truth[label]} examples)" for label in missing[:4])
            never = [(str(names[label]), float(truth[label])) for label in missing]
            yield found(RULE, f"in the last {PASSES} evaluations no example was ever taken for class {named}",
                        where=at(last[-1]), evidence={"classes": missing[:20], "passes": PASSES,
                                  "bars": bars("examples of the classes that are never the answer", never)})


def _passes(answers: list[int]) -> list[dict[str, object]]:
    return [toy_pass(number=n, first_step=14 * n, answers=answers, truth=[50, 30, 16]) for n in (1, 2, 3)]


RULE = Rule(
    code="RUN607",
    name="class_never_predicted",
    severity="advice",
    summary="the model never answers with a class that is there",
    why="Accuracy can look fine while a class is lost: it is rare, mislabelled, or its index is shifted.",
    fix="Look at its examples and labels; weigh classes, or sample them evenly.",
    source="Amazon SageMaker Debugger, rule ClassImbalance; Johnson & Khoshgoftaar 2019, Survey on deep learning with "
           "class imbalance",
    check=check,
    trips=lambda: toy_loop(more=_passes([60, 36, 0])),
    passes=lambda: toy_loop(more=_passes([55, 30, 11])),
    wrong_when="training has only begun",
    threshold=f"{EXAMPLES} examples and {SHARE:.0%} of the set, in {PASSES} passes in a row",
    confidence="likely",
)
