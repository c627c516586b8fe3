"""Calls of foreign code: recorded, and followed into functions and classes of the project."""

from __future__ import annotations

import ast

from torchstone.parts.source.definition import Definition, Frame
from torchstone.parts.source.stage import Stage, either
from torchstone.parts.source.value import Value, alternatives

Given = tuple[list[Value], dict[str, Value]]
# Methods that give back the very object they were called on, where that is a model.
KEEPS_MODEL = frozenset({"to", "cuda", "cpu", "float", "half", "double", "bfloat16", "train", "eval", "requires_grad_",
                         "to_empty", "apply", "type", "share_memory"})  # fmt: skip
# What goes around a model and is called in its place.
WRAPPERS = frozenset({"compile", "DistributedDataParallel", "DataParallel", "FullyShardedDataParallel", "DDP", "FSDP",
                      "get_peft_model", "prepare_model", "setup_module"})  # fmt: skip
MODEL_BASES = ("torch.nn.Module", "nn.Module", "LightningModule", "PreTrainedModel")


def call(stage: Stage, node: ast.Call, func: Value, given: Given, frame: Frame) -> Value:
    """What a call gives; a moment of it is recorded, and for calls into the project those within come after it."""
    one = _callee(func)
    args, keywords = given
    path = frame.module.path
    if one.kind == "function" and one.definition is not None:
        made = Value("call", node, path, one.definition.name, args=args, keywords=keywords, definition=one.definition)
        stage.record("call", made, node, frame)
        given_all = ([one.receiver, *args] if one.receiver is not None else args, keywords)
        made.result = follow(stage, one.definition, given_all)
        return made.result if made.result is not None else made
    if one.kind == "class" and one.definition is not None:
        return _instance(stage, node, one, given, frame)
    if one.kind == "name":
        made = _named(stage, node, one, given, frame)
        return made
    receiver, name = (one.receiver, one.name) if one.kind == "attr" else (one, "__call__")
    made = Value("call", node, path, name, receiver, args, keywords)
    stage.record("call", made, node, frame)
    if name == "__call__":
        made.result = _call_instance(stage, one, given)
    elif name == "prepare" and args:  # accelerate's and fabric's setup hand the same things back
        return args[0] if len(args) == 1 else Value("sequence", node, path, "prepare", made, args)
    elif name in KEEPS_MODEL and receiver is not None and is_model(receiver):
        return receiver
    return made


def _callee(func: Value) -> Value:
    """Of several possible callees the first that can be followed, else the first."""
    options = alternatives(func) or [func]
    return next((one for one in options if one.definition is not None), options[0])


def _named(stage: Stage, node: ast.Call, func: Value, given: Given, frame: Frame) -> Value:
    args, keywords = given
    made = Value("call", node, frame.module.path, func.name, args=args, keywords=keywords)
    if func.name == "super" and stage.functions and stage.functions[-1].owner is not None:
        first = next(iter(frame.values.values()), None)
        made.receiver, made.definition = first, stage.functions[-1].owner
        return made
    stage.record("call", made, node, frame)
    if func.name == "getattr" and len(args) >= 2 and isinstance(args[1].const, str) and args[1].const in args[0].fields:
        return args[0].fields[args[1].const]
    return made


def method_of(owner: Value, name: str) -> Value | None:
    """The bound method (or class attribute) of an instance of the project; None where there is none."""
    if owner.is_call("super") or (owner.name == "super" and owner.kind == "call"):
        return _method_above(owner, name)
    definition = owner.definition if owner.kind in ("call", "class", "param") else None
    if definition is None or not isinstance(definition.node, ast.ClassDef):
        return None
    method = definition.method(name)
    if method is not None:
        names = {decorator.name for decorator in method.decorators}
        receiver = None if owner.kind == "class" or "staticmethod" in names else owner
        if "property" in names or "functools.cached_property" in names:
            return None
        return Value("function", method.node, method.module.path, name, receiver, definition=method)
    return next((one.fields[name] for one in definition.ancestors() if name in one.fields), None)


def _method_above(owner: Value, name: str) -> Value | None:
    """super().name of an instance of the project."""
    instance, inside = owner.receiver, owner.definition
    if instance is None or inside is None or instance.definition is None:
        return None
    method = instance.definition.method(name, after=inside)
    if method is None:
        return None
    return Value("function", method.node, method.module.path, name, instance, definition=method)


def _instance(stage: Stage, node: ast.Call, cls: Value, given: Given, frame: Frame) -> Value:
    """A new instance of a class of the project; its __init__ is followed."""
    args, keywords = given
    made = Value("call", node, frame.module.path, cls.name, args=args, keywords=keywords, definition=cls.definition)
    stage.record("call", made, node, frame)
    assert cls.definition is not None
    initialise(stage, made, given)
    return made


def initialise(stage: Stage, instance: Value, given: Given) -> None:
    """Run the __init__ of an instance of the project."""
    assert instance.definition is not None
    init = instance.definition.method("__init__")
    if init is not None:
        follow(stage, init, ([instance, *given[0]], given[1]))


def _call_instance(stage: Stage, owner: Value, given: Given) -> Value | None:
    """What calling an instance gives: forward of a module of the project, or its __call__; layers of a Sequential."""
    if owner.kind == "call" and owner.definition is not None and isinstance(owner.definition.node, ast.ClassDef):
        for name in ("__call__", "forward", "call"):
            method = owner.definition.method(name)
            if method is not None:
                return follow(stage, method, ([owner, *given[0]], given[1]))
    inner = wrapped(owner)
    if inner is not None:
        return _call_instance(stage, inner, given)
    if owner.is_call("torch.nn.Sequential") and owner.args and "*" not in owner.keywords and given[0]:
        value = given[0][0]
        for layer in owner.args:
            value = Value("call", layer.node, layer.path, "__call__", layer, [value],
                          result=_call_instance(stage, layer, ([value], {})))
        return value
    return None


def wrapped(value: Value) -> Value | None:
    """The model inside torch.compile, DistributedDataParallel and their like; None where it is none of them."""
    tail = value.name.rpartition(".")[2]
    is_wrapper = value.kind == "call" and tail in WRAPPERS
    return value.args[0] if is_wrapper and value.args else None


def follow(stage: Stage, definition: Definition, given: Given) -> Value | None:
    """Play a function of the project with these arguments; what it returns, or None where it is not followed."""
    stage.reached.add(id(definition.node))
    if not stage.may_follow(definition):
        return None
    frame = Frame(definition.module, definition.frame)
    bind_parameters(stage, definition, given, frame)
    with stage.within(withs=definition.decorators, function=definition):
        if isinstance(definition.node, ast.Lambda):
            return stage.evaluate(stage, definition.node.body, frame)
        assert not isinstance(definition.node, ast.ClassDef)
        stage.run(stage, definition.node.body, frame)
    if not frame.returned:
        return None
    return either(frame.returned, definition.module.path)


def bind_parameters(stage: Stage, definition: Definition, given: Given, frame: Frame) -> None:
    """Bind arguments to parameters; what is not given is its default, or unknown."""
    assert not isinstance(definition.node, ast.ClassDef)
    spec = definition.node.args
    args, keywords = given
    positional = [*spec.posonlyargs, *spec.args]
    defaults = dict(zip([one.arg for one in reversed(positional)], reversed(spec.defaults), strict=False))
    defaults |= {one.arg: value for one, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if value}
    for number, parameter in enumerate([*positional, *spec.kwonlyargs]):
        name = parameter.arg
        if name in keywords:
            frame.values[name] = keywords[name]
        elif number < len(args) and number < len(positional):
            frame.values[name] = args[number]
        elif name in defaults and "**" not in keywords and "*" not in keywords:
            frame.values[name] = stage.evaluate(stage, defaults[name], definition.frame)
        else:
            frame.values[name] = unknown_parameter(stage, parameter, definition)
    if spec.vararg is not None:
        rest = args[len(positional):]
        frame.values[spec.vararg.arg] = Value("sequence", definition.node, definition.module.path, "Tuple", args=rest)
    if spec.kwarg is not None:
        frame.values[spec.kwarg.arg] = Value("param", definition.node, definition.module.path, spec.kwarg.arg)


def unknown_parameter(stage: Stage, parameter: ast.arg, definition: Definition) -> Value:
    """A parameter whose caller is not known; an annotation tells a class of the project or a dotted name."""
    value = Value("param", parameter, definition.module.path, parameter.arg, alias=parameter.arg)
    if isinstance(parameter.annotation, (ast.Name, ast.Attribute)):
        noted = stage.evaluate(stage, parameter.annotation, definition.frame)
        value.keys = [noted]
        if noted.kind == "class":
            value.definition = noted.definition
    return value


def is_model(value: Value) -> bool:
    """Whether a value is a torch module as far as reading tells: made as one, or called like one."""
    return any(_is_one_model(one) for one in alternatives(value))


def _is_one_model(value: Value) -> bool:
    if value.kind == "call" and value.receiver is None:
        if value.definition is not None:
            bases = value.definition.base_names()
            return any(base in MODEL_BASES or base.rpartition(".")[2] in MODEL_BASES or base.startswith("torch.nn.")
                       for base in bases)
        tail = value.name.rpartition(".")[2]
        if wrapped(value) is not None or value.name.startswith(("torchvision.models.", "timm.create_model")):
            return True
        return value.name.startswith("torch.nn.") and tail[:1].isupper()
    if value.kind == "call" and value.name == "from_pretrained":
        return True
    hint = value.alias or value.name
    return value.kind in ("param", "attr", "unknown", "call") and any(
        word in hint.lower() for word in ("model", "net", "encoder", "decoder", "backbone", "generator", "critic"))
