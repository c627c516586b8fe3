"""COD507: gradients or weights are changed on one process only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    backwards,
    clippings,
    optimizer_steps,
)
from torchstone.rules._sketches import DISTRIBUTED, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per clipping or step inside of a branch that asks for one rank, while backward is outside."""
    for play in source.plays:
        passes = [moment for moment, _ in backwards(play)]
        if not play.calls("torch.distributed.init_process_group", "torch.nn.parallel.DistributedDataParallel"):
            continue
        changes = [*clippings(play), *(moment for moment, _ in optimizer_steps(play))]
        sick = [moment for moment in changes if (guard := _rank_guard(moment)) is not None
                and any(one.loops == moment.loops and guard not in [id(each.node) for each in one.guards]
                        for one in passes)]
        for moment in own(source, sick):
            yield found(RULE, f"{moment.value.name.rpartition('.')[2]}() runs on one rank only", where=at(moment))


def _rank_guard(moment: Moment) -> int | None:
    """The branch around a moment that is taken by one rank: `if rank == 0`, `if is_main_process()`."""
    for guard in moment.guards:
        test = getattr(guard.node, "test", None)
        text = ast.unparse(test) if isinstance(test, ast.AST) else ""
        if guard.arm == 0 and re.fullmatch(r"(\w+\.)*(\w*rank\w*(\(\))?) == 0|(\w+\.)*is_main_process(\(\))?", text):
            return id(guard.node)
    return None


RULE = Rule(
    code="COD507",
    name="source_changed_on_one_rank",
    severity="error",
    summary="gradients are clipped, or weights stepped, on one rank only",
    why="The processes then take different steps and their weights drift apart; nothing says so.",
    fix="Do on every rank what changes gradients or weights; keep `if rank == 0` for printing and saving.",
    source="torch 2.14 documentation, DistributedDataParallel: the same update on each process; deepspeed issue 1801",
    check=check,
    trips=lambda: changed(DISTRIBUTED, ("        torch.nn.utils", "        if dist.get_rank() == 0:\n"
                                        "            torch.nn.utils")),
    passes=lambda: changed(DISTRIBUTED),
    wrong_when="weights are sent from that rank to the others afterwards",
)
