"""How the pieces of a training are wired: modes of models, terms of losses, horizons of schedules, scalers, layers."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.parts.source.calls import is_model, wrapped
from torchstone.parts.source.moment import Loop, Moment, Play, once
from torchstone.parts.source.training import (
    backwards,
    batches_of,
    evaluation_loops,
    is_grad_off,
    is_loader,
    model_calls,
    optimizer_steps,
    same,
    training_loops,
)
from torchstone.parts.source.value import Value, alternatives, origins, peel

# Libraries that run the loop themselves, or change what backward, step and the loader do.
ENGINES = ("lightning", "pytorch_lightning", "lightning_fabric", "accelerate", "deepspeed", "ignite", "fastai",
           "composer", "trl", "colossalai", "catalyst", "skorch", "monai")  # fmt: skip
# Layers that act otherwise in train mode than in eval mode.
DROPS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "RReLU")
NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "LazyBatchNorm1d", "LazyBatchNorm2d",
         "LazyBatchNorm3d")  # fmt: skip
CUTS = (".item", ".detach", ".detach_", ".numpy", ".tolist", "float", "torch.tensor", "torch.as_tensor",
        "torch.Tensor", "torch.FloatTensor", "numpy.array", "numpy.asarray")  # fmt: skip
# How many values are looked at inside one model.
MAX_INSIDE = 400


def happens_with(one: Moment, other: Moment) -> bool:
    """Whether `one` happens in every pass in which `other` does: no branch around it that is not around the other."""
    arms = {(id(guard.node), guard.arm) for guard in other.guards}
    return all((id(guard.node), guard.arm) in arms for guard in one.guards)


def has_engine(names: set[str]) -> bool:
    """Whether a library that drives loops itself is imported, by the names that the file imports."""
    return any(name.partition(".")[0] in ENGINES for name in names)


def is_cut(value: Value) -> bool:
    """Whether a value is numbers of other values without their graph: .item(), .detach(), .data, torch.tensor(x)."""
    if value.kind == "attr":
        return value.name == "data" and value.receiver is not None
    if not value.is_call(*CUTS):
        return False
    return value.receiver is not None or bool(value.args and value.args[0].kind not in ("const", "sequence"))


def terms(value: Value | None, depth: int = 0) -> list[Value]:
    """The summands of a loss: through sums, signs, and factors that are constants; those of all branches."""
    found: list[Value] = []
    for one in peel(value):
        if one.kind == "op" and one.name in ("Add", "Sub", "USub") and depth < 20:
            for arg in one.args:
                found += terms(arg, depth + 1)
        elif one.kind == "op" and one.name in ("Mult", "Div") and depth < 20:
            varied = [arg for arg in one.args if not is_number(arg)]
            found += terms(varied[0], depth + 1) if len(varied) == 1 else [one]
        else:
            found.append(one)
    return found


def is_number(value: Value) -> bool:
    """Whether a value is a plain number, or a setting by its look: a constant, a parameter or option with no graph."""
    if value.kind in ("const", "param", "name"):
        return True
    return value.kind == "attr" and value.receiver is not None and value.receiver.kind in ("param", "attr", "unknown")


def losses(play: Play) -> Iterator[tuple[Moment, Value]]:
    """Each backward pass with each value that its loss may be."""
    for moment, loss in backwards(play):
        for one in alternatives(loss):
            yield moment, one


@once
def models_of(play: Play) -> list[tuple[Moment, Value]]:
    """The calls of models with the model, wrappers left on."""
    return [(moment, moment.value.receiver) for moment in model_calls(play) if moment.value.receiver is not None]


def holds(outer: Value | None, inner: Value | None) -> bool:
    """Whether a model is the other one or has it inside."""
    return any(same(one, inner) for one in inside(outer)) if outer is not None and inner is not None else False


def inside(model: Value | None) -> list[Value]:
    """A model and all that was put into it: arguments, fields, layers of lists; at most `MAX_INSIDE` values."""
    found: list[Value] = []
    todo, seen = alternatives(model), set()
    while todo and len(found) < MAX_INSIDE:
        one = todo.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        found.append(one)
        inner = wrapped(one)
        parts = [*one.args, *one.fields.values()] if one.kind in ("call", "sequence", "mapping") else []
        for part in [*parts, *([inner] if inner is not None else [])]:
            todo.extend(alternatives(part))
    return found


def layer_names(model: Value | None) -> tuple[set[str], bool]:
    """The names of torch's layers inside a model, and whether these are surely all of them."""
    names: set[str] = set()
    is_whole = model is not None
    for one in inside(model):
        is_made = one.kind == "call" and one.receiver is None
        if is_made and one.name.startswith("torch.nn.") and one.name[9:10].isupper():
            names.add(one.name.rpartition(".")[2])
        elif one.kind in ("param", "attr", "unknown", "item", "each"):
            is_whole = is_whole and one.kind == "attr"
        elif one.kind == "call" and one.definition is None and wrapped(one) is None and is_model(one):
            is_whole = False
    unresolved = any(base not in ("torch.nn.Module", "nn.Module") and not base.startswith("abc.")
                     for one in inside(model) if one.definition is not None and one.kind == "call"
                     for base in one.definition.base_names())
    return names, is_whole and not unresolved


def acts_by_mode(model: Value | None) -> bool | None:
    """Whether a model has layers that act otherwise in train mode; None where that cannot be read."""
    names, is_whole = layer_names(model)
    if names & {*DROPS, *NORMS} or _drops_by_option(model):
        return True
    return False if is_whole else None


def _drops_by_option(model: Value | None) -> bool:
    """Whether a recurrent layer, transformer layer or attention is given a dropout."""
    return any(one.kind == "call" and one.name.startswith("torch.nn.") and (
        ("dropout" in one.keywords and not one.keywords["dropout"].is_const(0, 0.0))
        or one.name.endswith(("TransformerEncoderLayer", "TransformerDecoderLayer"))) for one in inside(model))


def mode_changes(play: Play, model: Value | None) -> list[tuple[Moment, bool | None]]:
    """The calls that set the mode of a model or of what holds it: True train, False eval, None one or the other."""
    found: list[tuple[Moment, bool | None]] = []
    for moment in play.calls(".eval", ".train"):
        value = moment.value
        if not (same(value.receiver, model) or holds(value.receiver, model)):
            continue
        mode = value.given("mode", 0)
        if value.name == "eval":
            found.append((moment, False))
        elif mode is None or mode.is_const(True):
            found.append((moment, True))
        else:
            found.append((moment, False if mode.is_const(False) else None))
    return found


def trained_calls(play: Play, loops: list[Loop]) -> list[tuple[Moment, Value]]:
    """The calls of models inside training loops that record gradients."""
    return [(moment, model) for moment, model in models_of(play)
            if any(loop in moment.loops for loop in loops) and not is_grad_off(moment)]


def is_scaler(value: Value | None) -> bool:
    """Whether a value is a scaler of losses: a GradScaler, or called a scaler by its name."""
    for one in alternatives(value):
        if one.kind == "call" and one.receiver is None and one.name.rpartition(".")[2] == "GradScaler":
            return True
        if one.kind in ("param", "attr", "unknown") and "scaler" in (one.alias or one.name).lower():
            return True
    return False


@once
def scaled_backwards(play: Play) -> list[Moment]:
    """Backward passes of scaler.scale(loss)."""
    return [moment for moment in play.calls(".backward")
            if any(one.is_call(".scale") and is_scaler(one.receiver) for one in alternatives(moment.value.receiver))]


def autocast_type(value: Value) -> str:
    """The type that an autocast computes in: "float16", "bfloat16", or empty where it is none, off or not known."""
    tail = value.name.rpartition(".")[2]
    if value.kind != "call" or value.receiver is not None or tail != "autocast" or not value.name.startswith("torch."):
        return ""
    enabled = value.given("enabled")
    if enabled is not None and not enabled.is_const(True):
        return ""
    is_old = value.name.startswith("torch.cuda.amp")
    if is_old and value.args and not value.args[0].is_const(True):
        return ""
    given = value.given("dtype", 1)
    if given is not None:
        return given.name.rpartition(".")[2] if given.kind == "name" and "float16" in given.name else ""
    device = value.given("device_type", 0)
    return "float16" if is_old or (device is not None and device.is_const("cuda")) else ""


def count_of(loop: Loop) -> Value | None:
    """How often a loop runs: n of `for i in range(n)` or range(start, n), also in a progress bar."""
    over = loop.over
    while over is not None and over.kind == "call" and "tqdm" in over.name and over.args:
        over = over.args[0]
    if over is None or not over.is_call("range", "tqdm.trange", "tqdm.auto.trange") or not over.args:
        return None
    return over.args[1] if len(over.args) > 1 else over.args[0]


def is_same_number(one: Value | None, other: Value | None) -> bool:
    """Whether two values are the same number: one value, or equal whole numbers."""
    if one is None or other is None:
        return False
    if one is other:
        return True
    return one.kind == other.kind == "const" and type(one.const) is int and one.const == other.const and one.const > 1


def windows(play: Play) -> Iterator[tuple[Moment, Moment, Value]]:
    """Accumulation: (backward, step, test) where the step of a loop waits for a count's remainder and backward not."""
    for step, _ in optimizer_steps(play):
        for backward, _ in backwards(play):
            if not step.loops or step.loops != backward.loops or backward.index > step.index:
                continue
            arms = {id(guard.node) for guard in backward.guards}
            for guard in step.guards:
                if id(guard.node) not in arms and guard.arm == 0 and guard.test is not None and remainder(guard.test):
                    yield backward, step, guard.test


def nested_windows(play: Play) -> Iterator[tuple[Moment, Moment]]:
    """Accumulation by a loop of its own: (backward, step) where the step stands behind the loop of backward passes."""
    for step, _ in optimizer_steps(play):
        for backward, _ in backwards(play):
            is_around = len(step.loops) < len(backward.loops) and backward.loops[:len(step.loops)] == step.loops
            if is_around and step.loops and backward.index < step.index and not any(
                    backward.loops[-1] in other.loops for other, _ in optimizer_steps(play)):
                yield backward, step


def is_counted(loop: Loop) -> bool:
    """Whether a loop is over a count or a loader: one pass for each batch."""
    count = count_of(loop)
    is_several = count is not None and not any(one.is_const(1) for one in alternatives(count))
    return is_loader(batches_of(loop)) or is_several


def remainder(test: Value) -> Value | None:
    """What a test takes the remainder by: k of `(i + 1) % k == 0`; None where it takes none, or only in a part."""
    one = test
    if one.kind == "op" and one.name == "Or":
        return next((found for part in one.args if (found := remainder(part)) is not None), None)
    if one.kind == "op" and one.name == "Eq" and one.args and one.args[0].kind == "op" and one.args[0].name == "Mod":
        return one.args[0].args[1]
    return None


def depends_on(value: Value | None, other: Value) -> bool:
    """Whether a value was computed from another."""
    return any(one is other for one in origins(value))


@once
def validations(play: Play) -> list[tuple[Moment, Value]]:
    """The first model call of each evaluation loop whose model is trained in the same play, on other data."""
    loops = training_loops(play)
    trained = trained_calls(play, loops)
    seen = [batches_of(loop) for loop in loops]
    found: list[tuple[Moment, Value]] = []
    for loop in evaluation_loops(play):
        if any(same(batches_of(loop), one) for one in seen):
            continue
        first = next(((moment, model) for moment, model in models_of(play) if loop in moment.loops), None)
        if first is not None and any(same(first[1], model) for _, model in trained):
            found.append(first)
    return found
