"""Statements of foreign code, played in order: both arms of a branch, the body of a loop once."""

from __future__ import annotations

import ast

from torchstone.parts.source.definition import Definition, Frame
from torchstone.parts.source.module import absolute, is_main_guard
from torchstone.parts.source.moment import Guard, Loop
from torchstone.parts.source.stage import Stage, either
from torchstone.parts.source.value import Value

# What goes around an iterable and changes nothing of it.
PROGRESS = ("tqdm", "trange", "iter", "track", "tqdm_notebook")


def run(stage: Stage, body: list[ast.stmt], frame: Frame) -> bool:
    """Play statements; whether they end what they stand in (return, raise, break, continue)."""
    for node in body:
        stage.visit()
        if _run_one(stage, node, frame):
            return True
    return False


def _run_one(stage: Stage, node: ast.stmt, frame: Frame) -> bool:
    match node:
        case ast.Expr():
            stage.evaluate(stage, node.value, frame)
        case ast.Assign():
            value = stage.evaluate(stage, node.value, frame)
            if is_own_sum(node) and value.kind == "op" and len(value.args) == 2:
                stage.record("add", value.args[1], node, frame, value.args[0])
            for target in node.targets:
                bind(stage, target, value, frame)
        case ast.AnnAssign(value=ast.expr() as given):
            bind(stage, node.target, stage.evaluate(stage, given, frame), frame)
        case ast.AugAssign():
            _augment(stage, node, frame)
        case ast.If():
            return _branch(stage, node, frame)
        case ast.For() | ast.AsyncFor():
            over = stage.evaluate(stage, node.iter, frame)
            with stage.within(loop=Loop(node, over)):
                bind_each(stage, node.target, over, frame)
                run(stage, node.body, frame)
            run(stage, node.orelse, frame)
        case ast.While():
            test = stage.evaluate(stage, node.test, frame)
            with stage.within(loop=Loop(node, None), guard=Guard(node, 0, test)):
                run(stage, node.body, frame)
            run(stage, node.orelse, frame)
        case ast.With() | ast.AsyncWith():
            return _with(stage, node, frame)
        case ast.Try() | ast.TryStar():
            return _try(stage, node, frame)
        case ast.Return():
            frame.returned.append(
                stage.evaluate(stage, node.value, frame) if node.value else Value("const", node, frame.module.path))
            return True
        case ast.Raise():
            if node.exc is not None:
                stage.evaluate(stage, node.exc, frame)
            return True
        case ast.Break() | ast.Continue():
            return True
        case _:
            _define(stage, node, frame)
    return False


def is_own_sum(node: ast.Assign) -> bool:
    """Whether it is `total = total + …`, which does what `total += …` does."""
    value, target = node.value, node.targets[0]
    is_sum = len(node.targets) == 1 and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
    return is_sum and isinstance(target, (ast.Name, ast.Attribute)) and isinstance(value, ast.BinOp) and (
        ast.unparse(value.left) == ast.unparse(target))


def _define(stage: Stage, node: ast.stmt, frame: Frame) -> None:
    """Definitions, imports and the rest that only binds names."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            decorators = [stage.evaluate(stage, one, frame) for one in node.decorator_list]
            made = Definition(node, frame.module, frame, node.name, decorators=decorators)
            frame.values[node.name] = Value("function", node, frame.module.path, node.name, definition=made)
        case ast.ClassDef():
            frame.values[node.name] = _class(stage, node, frame)
        case ast.Import():
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                frame.values[bound] = Value("name", node, frame.module.path, alias.name if alias.asname else bound)
        case ast.ImportFrom():
            for alias in node.names:
                _import_from(stage, node, alias, frame)
        case ast.Global() | ast.Nonlocal():
            frame.globals.update(node.names)
        case ast.Assert():
            stage.evaluate(stage, node.test, frame)
        case ast.Delete():
            for target in node.targets:
                if isinstance(target, ast.Name):
                    frame.values.pop(target.id, None)
        case ast.Match():
            stage.evaluate(stage, node.subject, frame)
            for arm, case in enumerate(node.cases):
                with stage.within(guard=Guard(node, arm, None)):
                    run(stage, case.body, frame)


def _import_from(stage: Stage, node: ast.ImportFrom, alias: ast.alias, frame: Frame) -> None:
    base = absolute(node, frame.module.name, frame.module.path)
    module = stage.project.module(base, frame.module) if base else None
    if module is not None and module is not frame.module:
        theirs = stage.globals_of(module)
        if alias.name == "*":
            _star(stage, node, frame)
            return
    bound = alias.asname or alias.name
    dotted = Value("name", node, frame.module.path, f"{base}.{alias.name}" if base else alias.name)
    if module is None or module is frame.module:
        frame.values[bound] = dotted
    elif stage.guards or stage.is_quiet:
        frame.values[bound] = theirs.own(alias.name) or dotted
    else:
        frame.values.pop(bound, None)
        frame.promised[bound] = lambda: theirs.own(alias.name) or dotted


def _star(stage: Stage, node: ast.ImportFrom, frame: Frame) -> None:
    """Names that nothing else binds are looked for in the module of a `from … import *`."""
    if frame.load is None:
        frame.load = lambda name: None if name.startswith("_") else stage.starred(node, frame, name)
        return
    before = frame.load
    frame.load = lambda name: before(name) or (None if name.startswith("_") else stage.starred(node, frame, name))


def _class(stage: Stage, node: ast.ClassDef, frame: Frame) -> Value:
    bases = [stage.evaluate(stage, base, frame) for base in node.bases]
    made = Definition(node, frame.module, frame, node.name, bases=bases)
    made.decorators = [stage.evaluate(stage, one, frame) for one in node.decorator_list]
    inner = Frame(frame.module, frame)
    for one in node.body:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = [stage.evaluate(stage, decorator, inner) for decorator in one.decorator_list]
            made.methods[one.name] = Definition(one, frame.module, frame, one.name, decorators=decorators, owner=made)
        else:
            run(stage, [one], inner)
    made.fields.update(inner.values)
    return Value("class", node, frame.module.path, f"{frame.module.name}.{node.name}", definition=made)


def bind(stage: Stage, target: ast.expr, value: Value, frame: Frame) -> None:
    """Assign a value to a target, as an assignment does."""
    match target:
        case ast.Name():
            value.alias = value.alias or target.id
            scope = frame if target.id not in frame.globals else _outer(stage, target.id, frame)
            scope.values[target.id] = value
        case ast.Attribute():
            owner = stage.evaluate(stage, target.value, frame)
            value.alias = value.alias or target.attr
            before = owner.fields.get(target.attr)
            is_one_arm = before is not None and bool(stage.guards) and before.kind != "attr"
            owner.fields[target.attr] = either([before, value], frame.module.path) if is_one_arm else value
            place = Value("attr", target, frame.module.path, target.attr, owner)
            stage.record("assign", value, target, frame, place)
        case ast.Subscript():
            owner = stage.evaluate(stage, target.value, frame)
            index = stage.evaluate(stage, target.slice, frame)
            if index.kind == "const" and isinstance(index.const, str):
                owner.fields[f"[{index.const}]"] = value
            place = Value("item", target, frame.module.path, "", owner, [index])
            stage.record("assign", value, target, frame, place)
        case ast.Starred():
            bind(stage, target.value, value, frame)
        case ast.Tuple() | ast.List():
            _unpack(stage, target.elts, value, frame)


def _unpack(stage: Stage, targets: list[ast.expr], value: Value, frame: Frame) -> None:
    made = value.result if value.result is not None and value.result.kind == "sequence" else value
    is_known = made.kind == "sequence" and len(made.args) == len(targets) and made.name != "comprehension"
    for number, target in enumerate(targets):
        if is_known:
            bind(stage, target, made.args[number], frame)
        else:
            index = Value("const", target, frame.module.path, const=number)
            bind(stage, target, Value("item", target, frame.module.path, "", value, [index]), frame)


def bind_each(stage: Stage, target: ast.expr, over: Value, frame: Frame) -> None:
    """Bind a loop's target to an element of what it goes over; enumerate, zip and items() are looked into."""
    path = frame.module.path
    if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) >= 2:
        if over.is_call("enumerate") and over.args:
            bind(stage, target.elts[0], Value("unknown", target, path, "number"), frame)
            bind_each(stage, target.elts[1], over.args[0], frame)
            return
        if over.is_call("zip", "itertools.zip_longest") and len(over.args) == len(target.elts):
            for one, inner in zip(target.elts, over.args, strict=True):
                bind_each(stage, one, inner, frame)
            return
    if over.kind == "sequence" and over.args and over.name != "comprehension":
        bind(stage, target, either(over.args[:8], path), frame)
        return
    bind(stage, target, Value("each", target, path, "", shown_over(over)), frame)


def shown_over(over: Value) -> Value:
    """What a loop goes over, without a progress bar or iter() around it."""
    while over.kind == "call" and over.args and over.name.rpartition(".")[2] in PROGRESS:
        over = over.args[0]
    return over


def _outer(stage: Stage, name: str, frame: Frame) -> Frame:
    """The scope of a name that is declared global or nonlocal."""
    outer = frame.outer
    while outer is not None and name not in outer.values and outer.outer is not None:
        outer = outer.outer
    return outer or stage.globals_of(frame.module)


def _augment(stage: Stage, node: ast.AugAssign, frame: Frame) -> None:
    """`target += value`: a moment, and for a name a new value made of both."""
    before = stage.evaluate(stage, node.target, frame)
    value = stage.evaluate(stage, node.value, frame)
    stage.record("add", value, node, frame, before)
    if isinstance(node.target, (ast.Name, ast.Attribute)):
        made = Value("op", node, frame.module.path, type(node.op).__name__, args=[before, value], alias=before.alias)
        if isinstance(node.target, ast.Name):
            bind(stage, node.target, made, frame)
        else:
            stage.evaluate(stage, node.target.value, frame).fields[node.target.attr] = made


def _branch(stage: Stage, node: ast.If, frame: Frame) -> bool:
    if is_main_guard(node):
        return run(stage, node.body, frame)
    test = stage.evaluate(stage, node.test, frame)
    ends, scopes = [], []
    before = dict(frame.values)
    for arm, body in enumerate((node.body, node.orelse)):
        frame.values = dict(before)
        with stage.within(guard=Guard(node, arm, test)):
            ends.append(run(stage, body, frame))
        scopes.append(frame.values)
    _merge(frame, [scope for scope, is_over in zip(scopes, ends, strict=True) if not is_over] or scopes)
    return all(ends)


def _merge(frame: Frame, scopes: list[dict[str, Value]]) -> None:
    """The names after a branch: any of what its arms left."""
    merged = dict(scopes[0])
    for scope in scopes[1:]:
        for name, value in scope.items():
            if name not in merged:
                merged[name] = value
            elif merged[name] is not value:
                alias = merged[name].alias
                merged[name] = either([merged[name], value], frame.module.path)
                merged[name].alias = merged[name].alias or alias
    frame.values = merged


def _with(stage: Stage, node: ast.With | ast.AsyncWith, frame: Frame) -> bool:
    values = []
    for item in node.items:
        value = stage.evaluate(stage, item.context_expr, frame)
        values.append(value)
        if item.optional_vars is not None:
            bind(stage, item.optional_vars, value, frame)
    with stage.within(withs=values):
        return run(stage, node.body, frame)


def _try(stage: Stage, node: ast.Try | ast.TryStar, frame: Frame) -> bool:
    is_over = run(stage, node.body, frame)
    before, scopes = dict(frame.values), []
    for arm, handler in enumerate(node.handlers, 1):
        frame.values = dict(before)
        with stage.within(guard=Guard(node, arm, None)):
            if not run(stage, handler.body, frame):
                scopes.append(frame.values)
    frame.values = before
    if not is_over:
        is_over = run(stage, node.orelse, frame)
    _merge(frame, [frame.values, *scopes])
    return run(stage, node.finalbody, frame) or (is_over and not node.handlers)
