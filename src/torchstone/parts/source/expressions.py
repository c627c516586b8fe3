"""The value of an expression of foreign code."""

from __future__ import annotations

import ast
import builtins

from torchstone.parts.source.calls import call, method_of
from torchstone.parts.source.definition import Definition, Frame
from torchstone.parts.source.moment import Loop
from torchstone.parts.source.stage import Stage, either
from torchstone.parts.source.statements import bind, bind_each
from torchstone.parts.source.value import Value

BUILTINS = frozenset(dir(builtins))


def evaluate(stage: Stage, node: ast.expr, frame: Frame) -> Value:
    """What the expression stands for; calls on the way are recorded, and followed into the project."""
    stage.visit()
    path = frame.module.path
    match node:
        case ast.Constant():
            return Value("const", node, path, const=node.value)
        case ast.Name():
            return _name(stage, node, frame)
        case ast.Attribute():
            return attribute(stage, evaluate(stage, node.value, frame), node, frame)
        case ast.Call():
            return _call(stage, node, frame)
        case ast.Subscript():
            return _subscript(stage, node, frame)
        case ast.Lambda():
            made = Definition(node, frame.module, frame, "<lambda>")
            return Value("function", node, path, "<lambda>", definition=made)
        case ast.IfExp():
            evaluate(stage, node.test, frame)
            return either([evaluate(stage, node.body, frame), evaluate(stage, node.orelse, frame)], path)
        case ast.NamedExpr():
            value = evaluate(stage, node.value, frame)
            bind(stage, node.target, value, frame)
            return value
        case ast.Await() | ast.Starred() | ast.YieldFrom():
            return evaluate(stage, node.value, frame)
        case ast.Yield():
            return evaluate(stage, node.value, frame) if node.value else Value("const", node, path)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return _comprehension(stage, node, frame)
        case _:
            return _composed(stage, node, frame)


def _composed(stage: Stage, node: ast.expr, frame: Frame) -> Value:
    """Operators, sequences, mappings and texts."""
    path = frame.module.path
    match node:
        case ast.BinOp():
            parts = [evaluate(stage, node.left, frame), evaluate(stage, node.right, frame)]
            return Value("op", node, path, type(node.op).__name__, args=parts)
        case ast.UnaryOp():
            inner = evaluate(stage, node.operand, frame)
            if isinstance(node.op, ast.USub) and inner.kind == "const" and isinstance(inner.const, (int, float)):
                return Value("const", node, path, const=-inner.const)
            return Value("op", node, path, type(node.op).__name__, args=[inner])
        case ast.BoolOp():
            parts = [evaluate(stage, one, frame) for one in node.values]
            return Value("op", node, path, type(node.op).__name__, args=parts)
        case ast.Compare():
            sides = [evaluate(stage, one, frame) for one in (node.left, *node.comparators)]
            return Value("op", node, path, type(node.ops[0]).__name__, args=sides)
        case ast.Tuple() | ast.List() | ast.Set():
            parts = [evaluate(stage, one, frame) for one in node.elts]
            return Value("sequence", node, path, type(node).__name__, args=parts)
        case ast.Dict():
            keys = [evaluate(stage, key, frame) if key is not None else None for key in node.keys]
            made = Value("mapping", node, path, args=[evaluate(stage, one, frame) for one in node.values], keys=keys)
            for key, value in zip(keys, made.args, strict=True):
                if key is not None and isinstance(key.const, str):
                    made.fields[f"[{key.const}]"] = value
            return made
        case ast.JoinedStr():
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    evaluate(stage, part.value, frame)
            return Value("unknown", node, path, "text")
        case ast.Slice():
            ends = [evaluate(stage, one, frame) for one in (node.lower, node.upper, node.step) if one is not None]
            return Value("op", node, path, "Slice", args=ends)
        case _:
            return Value("unknown", node, path)


def _name(stage: Stage, node: ast.Name, frame: Frame) -> Value:
    value = frame.find(node.id)
    if value is None:
        kind = "name" if node.id in BUILTINS else "unknown"
        value = Value(kind, node, frame.module.path, node.id)  # type: ignore[arg-type]  # one of the two literals
        if kind == "unknown":
            frame.values[node.id] = value
    return value


def attribute(stage: Stage, owner: Value, node: ast.Attribute, frame: Frame) -> Value:
    """`owner.name`: a field that was seen assigned, a method of the project, a dotted name, or unknown."""
    name, path = node.attr, frame.module.path
    if name in owner.fields:
        return owner.fields[name]
    if owner.kind == "name":
        module = stage.project.module(owner.name, frame.module)
        if module is not None and module is not frame.module:
            theirs = stage.globals_of(module).own(name)
            if theirs is not None:
                return theirs
        return Value("name", node, path, f"{owner.name}.{name}")
    found = method_of(owner, name)
    if found is not None:
        return found
    if owner.kind == "either":
        parts = [attribute(stage, one, node, frame) for one in owner.args]
        if any(part.kind != "attr" for part in parts):
            return either(parts, path)
    value = Value("attr", node, path, name, owner)
    owner.fields[name] = value
    return value


def _subscript(stage: Stage, node: ast.Subscript, frame: Frame) -> Value:
    owner = evaluate(stage, node.value, frame)
    index = evaluate(stage, node.slice, frame)
    if index.kind == "const" and isinstance(index.const, str) and f"[{index.const}]" in owner.fields:
        return owner.fields[f"[{index.const}]"]
    element = owner.element(index)
    if element is not None:
        return element
    return Value("item", node, frame.module.path, "", owner, [index])


def _call(stage: Stage, node: ast.Call, frame: Frame) -> Value:
    if isinstance(node.func, ast.Attribute):
        owner = evaluate(stage, node.func.value, frame)
        func = attribute(stage, owner, node.func, frame)
    else:
        func = evaluate(stage, node.func, frame)
    args = [evaluate(stage, one, frame) for one in node.args]
    keywords = {}
    for keyword in node.keywords:
        value = evaluate(stage, keyword.value, frame)
        keywords[keyword.arg or "**"] = value
    if any(isinstance(one, ast.Starred) for one in node.args):
        keywords["*"] = Value("unknown", node, frame.module.path, "*")
    return call(stage, node, func, (args, keywords), frame)


def _comprehension(
    stage: Stage, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, frame: Frame
) -> Value:
    inner = Frame(frame.module, frame)
    generator = node.generators[0]
    over = evaluate(stage, generator.iter, frame)
    loop = Loop(node, over, is_comprehension=True)
    with stage.within(loop=loop):
        bind_each(stage, generator.target, over, inner)
        for more in node.generators[1:]:
            bind_each(stage, more.target, evaluate(stage, more.iter, inner), inner)
        for test in (test for one in node.generators for test in one.ifs):
            evaluate(stage, test, inner)
        if isinstance(node, ast.DictComp):
            parts = [evaluate(stage, node.key, inner), evaluate(stage, node.value, inner)]
        else:
            parts = [evaluate(stage, node.elt, inner)]
    return Value("sequence", node, frame.module.path, "comprehension", over, parts)
