"""What the calls of training code are: optimizers and their steps, backward passes, losses, loaders, models."""

from __future__ import annotations

from torchstone.parts.source.calls import is_model, wrapped
from torchstone.parts.source.definition import Definition
from torchstone.parts.source.moment import Loop, Moment, Play, once
from torchstone.parts.source.value import Value, alternatives, origins

# The class of each functional loss of torch that one meets, and whether it applies an activation itself.
LOSSES = {
    "torch.nn.CrossEntropyLoss": "cross_entropy", "torch.nn.functional.cross_entropy": "cross_entropy",
    "torch.nn.NLLLoss": "nll_loss", "torch.nn.functional.nll_loss": "nll_loss",
    "torch.nn.BCELoss": "binary_cross_entropy", "torch.nn.functional.binary_cross_entropy": "binary_cross_entropy",
    "torch.nn.BCEWithLogitsLoss": "bce_with_logits",
    "torch.nn.functional.binary_cross_entropy_with_logits": "bce_with_logits",
    "torch.nn.MultiLabelSoftMarginLoss": "multilabel_soft_margin",
    "torch.nn.MSELoss": "mse_loss", "torch.nn.functional.mse_loss": "mse_loss",
    "torch.nn.L1Loss": "l1_loss", "torch.nn.functional.l1_loss": "l1_loss",
    "torch.nn.SmoothL1Loss": "smooth_l1_loss", "torch.nn.functional.smooth_l1_loss": "smooth_l1_loss",
    "torch.nn.HuberLoss": "huber_loss", "torch.nn.functional.huber_loss": "huber_loss",
    "torch.nn.KLDivLoss": "kl_div", "torch.nn.functional.kl_div": "kl_div",
}  # fmt: skip
GRAD_OFF = ("torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.inference_mode",
            "torch.set_grad_enabled", "torch.autograd.set_grad_enabled")  # fmt: skip

# Words in names of things that have a backward(loss) of their own.
FRAMEWORKS = ("accelerator", "fabric", "engine", "booster")


# The name of a loss, the call that holds its options, its input and its target.
Loss = tuple[str, Value, Value | None, Value | None]


def loss_of(value: Value) -> Loss | None:
    """What a call computes as a loss of torch: its name ("cross_entropy"), the call that holds its options, its input
    and its target; None where it is no such call."""
    if value.kind != "call":
        return None
    if value.receiver is None and value.name in LOSSES and value.name.startswith("torch.nn.functional"):
        return LOSSES[value.name], value, value.given("input", 0), value.given("target", 1)
    if value.name == "__call__" and value.receiver is not None:
        for one in alternatives(value.receiver):
            if one.kind == "call" and one.receiver is None and one.name in LOSSES:
                return LOSSES[one.name], one, value.given("input", 0), value.given("target", 1)
    return None


@once
def losses(play: Play) -> list[tuple[Moment, Loss]]:
    """Every call of a loss of torch in a play, with what `loss_of` says of it, in order."""
    told = [(moment, loss_of(moment.value)) for moment in play.calls()]
    return [(moment, loss) for moment, loss in told if loss is not None]


def is_optimizer(value: Value | None) -> bool:
    """Whether a value is an optimizer: made as one, prepared by a framework, or only called one by its name."""
    return any(_is_one_optimizer(one) for one in alternatives(value))


def _is_one_optimizer(value: Value) -> bool:
    name = value.name
    tail = name.rpartition(".")[2]
    if value.kind == "call" and value.receiver is None:
        if value.definition is not None:
            return any(base.rpartition(".")[2].endswith("Optimizer") for base in value.definition.base_names())
        if name.startswith("torch.optim.") and not name.startswith("torch.optim.lr_scheduler."):
            return tail[:1].isupper()
        if tail in ("create_optimizer", "create_optimizer_v2", "get_optimizer", "build_optimizer", "make_optimizer"):
            return True
        return tail in KNOWN_OPTIMIZERS
    hint = (value.alias or name).lower()
    is_open = value.kind in ("param", "attr", "unknown", "item", "call", "each")
    return is_open and ("optim" in hint or hint in ("opt", "opts"))


KNOWN_OPTIMIZERS = frozenset({
    "Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adafactor", "Lion", "LAMB", "Lamb", "LARS", "AdamW8bit", "Adam8bit",
    "FusedAdam", "FusedSGD", "RAdam", "NAdam", "Muon", "Ranger", "AdaBelief", "DeepSpeedCPUAdam", "AdamWScheduleFree",
})  # fmt: skip


def is_scheduler(value: Value | None) -> bool:
    """Whether a value is a learning-rate scheduler: made as one, or only called one by its name."""
    for one in alternatives(value):
        tail = one.name.rpartition(".")[2]
        if one.kind == "call" and one.receiver is None:
            is_made = one.name.startswith("torch.optim.lr_scheduler.") or (
                tail.startswith("get_") and tail.endswith(("schedule_with_warmup", "scheduler", "schedule")))
            if is_made:
                return True
        hint = (one.alias or one.name).lower()
        if one.kind in ("param", "attr", "unknown", "item") and ("sched" in hint and "sampling" not in hint):
            return True
    return False


def is_loader(value: Value | None) -> bool:
    """Whether a value gives batches: a DataLoader of torch, or called a loader by its name."""
    for one in alternatives(value):
        if one.kind == "call" and one.name.rpartition(".")[2].endswith("DataLoader"):
            return True
        hint = (one.alias or one.name).lower()
        if one.kind in ("param", "attr", "unknown", "item", "call") and ("loader" in hint or "dataloader" in hint):
            return True
    return False


@once
def optimizers(play: Play) -> list[Value]:
    """Every optimizer that is made in a play, in order."""
    made = [moment.value for moment in play.calls() if moment.value.receiver is None]
    return [value for value in made if _is_one_optimizer(value)]


@once
def backwards(play: Play) -> list[tuple[Moment, Value | None]]:
    """Backward passes with the loss: loss.backward(), scaler.scale(loss).backward(), accelerator.backward(loss)."""
    found: list[tuple[Moment, Value | None]] = []
    for moment in play.calls(".backward", ".manual_backward", "torch.autograd.backward"):
        value = moment.value
        if value.args and (value.name == "manual_backward" or is_framework(value.receiver) or value.receiver is None):
            found.append((moment, value.args[0]))
        else:
            found.append((moment, unscaled(value.receiver)))
    return found


def is_framework(value: Value | None) -> bool:
    """Whether a value is an Accelerator, a Fabric, a DeepSpeed engine: something with its own backward(loss)."""
    for one in alternatives(value):
        tail = one.name.rpartition(".")[2]
        hint = (one.alias or one.name).lower()
        if tail in ("Accelerator", "Fabric") or any(word in hint for word in FRAMEWORKS):
            return True
    return False


def unscaled(value: Value | None) -> Value | None:
    """The loss inside scaler.scale(loss); the value itself where it is not that."""
    return value.args[0] if value is not None and value.is_call(".scale") and value.args else value


@once
def optimizer_steps(play: Play) -> list[tuple[Moment, Value]]:
    """Steps with their optimizer: optimizer.step(), scaler.step(optimizer). Steps with a closure are among them."""
    found = []
    for moment in play.calls(".step"):
        value = moment.value
        if value.args and is_optimizer(value.args[0]):
            found.append((moment, value.args[0]))
        elif value.receiver is not None and is_optimizer(value.receiver) and not is_scheduler(value.receiver):
            found.append((moment, value.receiver))
    return found


def has_closure(step: Moment) -> bool:
    """Whether a step is given a function that runs the backward pass itself."""
    return any(one.kind == "function" for one in step.value.args if step.value.receiver is not None)


@once
def zero_grads(play: Play) -> list[Moment]:
    """Whatever clears gradients: zero_grad() of an optimizer or model, `p.grad = None`, `p.grad.zero_()`."""
    found = play.calls(".zero_grad")
    found += [one for one in play.calls(".zero_", ".fill_") if one.value.receiver is not None
              and one.value.receiver.kind == "attr" and one.value.receiver.name == "grad"]
    found += [one for one in play.moments if one.what == "assign" and one.target is not None
              and one.target.kind == "attr" and one.target.name == "grad"]
    return sorted(found, key=lambda moment: moment.index)


@once
def scheduler_steps(play: Play) -> list[tuple[Moment, Value]]:
    """Steps of schedulers, with the scheduler."""
    return [(moment, moment.value.receiver) for moment in play.calls(".step", ".step_update")
            if moment.value.receiver is not None and is_scheduler(moment.value.receiver)
            and not is_optimizer(moment.value.receiver)]


@once
def clippings(play: Play) -> list[Moment]:
    """Calls that clip gradients."""
    return play.calls(
        "torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_", "torch.nn.utils.clip_grad.clip_grad_norm_",
        "torch.nn.utils.clip_grad_norm", ".clip_grad_norm_", ".clip_grad_value_",
        "torch.nn.utils.clip_grads_with_norm_")


@once
def model_calls(play: Play) -> list[Moment]:
    """Calls of models themselves (forward passes)."""
    return [moment for moment in play.calls(".__call__", ".forward")
            if moment.value.receiver is not None and is_model(moment.value.receiver)]


def innermost(moment: Moment) -> Loop | None:
    """The innermost loop around a moment that is no comprehension."""
    return next((loop for loop in reversed(moment.loops) if not loop.is_comprehension), None)


@once
def training_loops(play: Play) -> list[Loop]:
    """The innermost loops in which a backward pass and an optimizer's step both happen, each once, in order."""
    stepped = {loop for moment, _ in optimizer_steps(play) for loop in moment.loops}
    found: list[Loop] = []
    for moment, _ in backwards(play):
        both = [loop for loop in moment.loops if loop in stepped and not loop.is_comprehension]
        if both and both[-1] not in found:
            found.append(both[-1])
    return found


@once
def evaluation_loops(play: Play) -> list[Loop]:
    """Loops over a loader that call a model and hold no backward pass and no step, innermost, in order."""
    trained = {loop for moment, _ in [*backwards(play), *optimizer_steps(play)] for loop in moment.loops}
    found: list[Loop] = []
    for moment in model_calls(play):
        around = [one for one in moment.loops if not one.is_comprehension and is_loader(batches_of(one))]
        loop = around[-1] if around else None
        if loop is not None and loop not in trained and loop not in found:
            found.append(loop)
    return found


def batches_of(loop: Loop) -> Value | None:
    """What a loop goes over, without enumerate and progress bars."""
    over = loop.over
    while over is not None and over.kind == "call" and over.args and (
        over.name in ("enumerate", "iter", "zip", "list") or "tqdm" in over.name or over.name.endswith(".track")
    ):
        over = over.args[0]
    return over


def is_grad_off(moment: Moment) -> bool:
    """Whether a moment stands within no_grad, inference_mode or set_grad_enabled: a `with` or a decorator around it."""
    for value in moment.withs:
        if any(one.name in GRAD_OFF or one.name.rpartition(".")[2] in ("no_grad", "inference_mode", "set_grad_enabled")
               for one in alternatives(value)):
            return True
    return False


def is_from_scratch(value: Value) -> bool:
    """Whether a model is made in this code: not given from elsewhere."""
    return value.kind == "call" and value.receiver is None and is_model(value)


def same(one: Value | None, other: Value | None) -> bool:
    """Whether two values may be the same thing: a common alternative, seen through wrappers of models."""
    return bool({id(value) for value in _bare(one)} & {id(value) for value in _bare(other)})


def _bare(value: Value | None) -> list[Value]:
    found = []
    for one in alternatives(value):
        found.append(one)
        inner = wrapped(one)
        while inner is not None:
            found.append(inner)
            inner = wrapped(inner)
    return found


def parameters_of(optimizer: Value) -> list[Value]:
    """The models (and other owners) whose .parameters() an optimizer was given."""
    within = origins(optimizer.given("params", 0), lambda value: not value.is_call(".parameters"))
    return [one.receiver for one in within
            if one.is_call(".parameters", ".named_parameters") and one.receiver is not None]


def is_in(moment: Moment, definition: Definition) -> bool:
    """Whether a moment happens within a followed function."""
    return any(one is definition for one in moment.functions)
