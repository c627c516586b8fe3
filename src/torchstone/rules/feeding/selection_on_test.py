"""RUN509: the best checkpoint is chosen on the test set."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_pass, training_loaders

PASSES, SAVES = 2, 2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where weights are saved after passes over a loader that the script calls test, and no other.

    Where every pass is followed by a save, nothing is chosen, unless the file is called the best.
    """
    trained = training_loaders(rows)
    passes: dict[int, list[Row]] = defaultdict(list)
    for row in of(rows, "pass"):
        if row["loader"] not in trained and row["is_whole"] and row["first_step"] > 0:
            passes[row["loader"]].append(row)
    repeated = {loader: group for loader, group in passes.items() if len(group) >= PASSES}
    saves = [row for row in of(rows, "save") if {"weights", "module"} & set(row["holds"]) and row["step"] > 0]
    if len(repeated) != 1 or len(saves) < SAVES:
        return
    (group,) = repeated.values()
    ends = {row.get("last_step") for row in group}
    after = [row for row in saves if row["step"] in ends]
    is_best = any("best" in str(row["path"]).lower() for row in after)
    if len({row["step"] for row in after}) == len(ends) and not is_best:
        return  # every epoch is kept, as many reference scripts do: nothing is chosen
    if is_called_test(group[0]) and len(after) >= SAVES and len(after) == len(saves):
        what = f"checkpoints are saved after {len(after)} of {len(group)} passes over '{group[0]['names'][-1]}'"
        yield found(RULE, what, where=at(group[PASSES - 1]), evidence={"saves": len(after), "passes": len(group)})


def is_called_test(row: Row) -> bool:
    """Whether the outermost name of a loader says test and none says validation."""
    names = [str(name).lower() for name in row.get("names") or []]
    is_other = any(word in name for name in names for word in ("val", "dev", "train"))
    return bool(names) and "test" in names[-1] and not is_other


def _loop(name: str) -> list[dict[str, object]]:
    passes = [toy_pass(names=["loader", name], number=n, last_step=14 * n, first_step=14 * n) for n in (1, 2)]
    save = {"event": "save", "path": "best.pt", "place": "train.py:40", "holds": ["optimizer", "weights"]}
    return toy_loop(more=[*passes, *({**save, "step": 14 * n} for n in (1, 2))])


RULE = Rule(
    code="RUN509",
    name="selection_on_test",
    severity="warning",
    summary="the test set chooses the checkpoint that it then praises",
    why="The best of many epochs on a set is better on that set than anywhere else: the reported score is too good.",
    fix="Choose the checkpoint on a validation part, and look at the test set once, at the end.",
    source="RRT-MIL#22; OpenNRE#125; Dwork et al. 2015, The reusable holdout",
    check=check,
    trips=lambda: _loop("test_loader"),
    passes=lambda: _loop("val_loader"),
    wrong_when="the set is a validation set that is only called test",
    threshold=f"{PASSES} passes and {SAVES} saves, not one per pass unless the file is called best; the loader's name",
    confidence="likely",
)
