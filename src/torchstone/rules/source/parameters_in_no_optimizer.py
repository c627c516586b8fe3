"""COD141: a model that the loss goes through is in no optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.calls import is_model
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    backwards,
    optimizers,
    parameters_of,
    same,
    training_loops,
)
from torchstone.parts.source.value import Value, alternatives, origins
from torchstone.parts.source.wiring import (
    has_engine,
    holds,
    inside,
    is_cut,
    layer_names,
    trained_calls,
)
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per model made here that a loss depends on, while every optimizer holds other models only."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        made = optimizers(play)
        held = [model for one in made for model in parameters_of(one)]
        if play.is_cut or not made or not all(_is_plain(one) for one in made) or play.calls(".add_param_group"):
            continue
        if any(_owner_kind(one) for one in held):
            continue
        for moment, model in _used(play):
            is_in = any(holds(one, model) or holds(model, one) for one in held)
            if not is_in and not _is_frozen_or_spoken_of(play, model):
                for one in own(source, [moment]):
                    yield found(RULE, "the loss goes through a model whose parameters no optimizer was given",
                                where=at(one), evidence={"model_line": model.line})


def _is_plain(optimizer: Value) -> bool:
    """Whether it is plain which models' parameters an optimizer was given."""
    if optimizer.receiver is not None or not optimizer.name.startswith("torch.optim."):
        return False
    given = optimizer.given("params", 0)
    parts = list(origins(given, lambda value: not value.is_call(".parameters")))
    return bool(parts) and all(
        one.is_call(".parameters", "list", "itertools.chain") or (one.kind == "op" and one.name == "Add")
        or (one.kind == "sequence" and one.name != "comprehension") for one in parts)


def _owner_kind(value: Value) -> bool:
    """Whether an owner of parameters is not known."""
    return not all(one.kind == "call" and one.receiver is None for one in alternatives(value))


def _used(play: Play) -> list[tuple[Moment, Value]]:
    """The calls in training loops, with gradients, of models made here from which a loss was computed."""
    loops = training_loops(play)
    graphs = {id(one) for _, loss in backwards(play) for one in origins(loss, lambda value: not is_cut(value))}
    found_: dict[int, tuple[Moment, Value]] = {}
    for moment, model in trained_calls(play, loops):
        options = alternatives(model)
        is_made = len(options) == 1 and options[0].kind == "call" and options[0].receiver is None
        given = [part for one in alternatives(moment.value.result)
                 for part in (one.args if one.kind == "sequence" else [one])]
        is_in_graph = any(id(each) in graphs for one in [moment.value, *given] for each in alternatives(one))
        if is_made and is_in_graph and _has_parameters(options[0]) and len(moment.functions) <= 1:
            found_.setdefault(id(options[0]), (moment, options[0]))
    return list(found_.values())


def _has_parameters(model: Value) -> bool:
    names, _ = layer_names(model)
    return any(word in name for name in names for word in ("Linear", "Conv", "LSTM", "GRU", "RNN", "Embedding"))


def _is_frozen_or_spoken_of(play: Play, model: Value) -> bool:
    """Whether the model is frozen, put in eval mode, loaded, or inside of another model."""
    for moment in play.moments:
        if moment.what == "call" and moment.is_call(".requires_grad_", ".load_state_dict", ".eval") and same(
                moment.value.receiver, model):
            return True
        if moment.what == "call" and moment.value.name == "parameters" and same(moment.value.receiver, model):
            return any(_sets_off(one) for one in play.moments)
    return any(moment.what == "call" and moment.value is not model and any(
        one is model for one in inside(moment.value)) for moment in play.calls() if is_model(moment.value))


def _sets_off(moment: Moment) -> bool:
    return moment.what == "assign" and moment.target is not None and moment.target.name == "requires_grad"


RULE = Rule(
    code="COD141",
    name="source_parameters_in_no_optimizer",
    severity="error",
    summary="a model in the loss, and in no optimizer",
    why="Gradients reach its parameters and nothing uses them: it stays as it was first drawn.",
    fix="Give the optimizer its parameters too: [*a.parameters(), *b.parameters()].",
    source="torch 2.14 documentation, torch.optim: constructing an optimizer",
    check=check,
    trips=lambda: changed(TRAINING, ("optimizer = ", "head = nn.Linear(1, 1)\noptimizer = "),
                          ("mse_loss(model(x), y)\n        loss.b", "mse_loss(head(model(x)), y)\n        loss.b")),
    passes=lambda: changed(TRAINING, ("optimizer = torch.optim.SGD(model.parameters(),", "head = nn.Linear(1, 1)\n"
                           "optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()],"),
                           ("mse_loss(model(x), y)\n        loss.b", "mse_loss(head(model(x)), y)\n        loss.b")),
    wrong_when="that model is to stay as it was drawn",
)
