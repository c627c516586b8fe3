"""A file's plays: as a script, then each function and method that no other code was seen to call."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from torchstone.parts.source.calls import bind_parameters, follow, initialise
from torchstone.parts.source.definition import Definition, Frame
from torchstone.parts.source.expressions import evaluate
from torchstone.parts.source.module import Module, parse_module
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.project import Project, project_of
from torchstone.parts.source.stage import MAX_STEPS, MAX_STEPS_ASIDE, Budget, Stage, TooLong
from torchstone.parts.source.statements import run
from torchstone.parts.source.value import Value

# Where one of these stands in a file, it may train or prepare data, and is followed further.
WORDS = ("backward(", "optim.", "ptimizer(", ".fit(", "Trainer(", "DataLoader(", "train_test_split", "training_step",
         "init_process_group")  # fmt: skip


@dataclass(eq=False)
class Source:
    """One file, read: what source rules are asked about.

    plays: the file as a script first (entry None). frame: its globals. classes: those defined at its top level.
    budget: what may still be read of it, in steps. globals: of the other files that it reached.
    made: an instance of each class whose methods are played alone, by the id of its definition.
    """

    module: Module
    project: Project
    frame: Frame
    plays: list[Play] = field(default_factory=list)
    budget: Budget = field(default_factory=Budget)
    globals: dict[str, Frame] = field(default_factory=dict)
    made: dict[int, Value] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """How findings call the file."""
        return self.module.path

    @property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return self.module.tree

    @property
    def classes(self) -> list[Definition]:
        """The classes at the top level of the file."""
        values = self.frame.values.values()
        return [one.definition for one in values
                if one.kind == "class" and one.definition is not None and one.definition.module is self.module]

    def moments(self, *names: str) -> Iterator[tuple[Play, Moment]]:
        """The calls of these names of all plays, each place once, that stand in files of the project."""
        plays = {moment: play for play in self.plays for moment in play.calls(*names)}
        for moment in self.each_place(plays):
            yield plays[moment], moment

    def each_place(self, moments: Iterable[Moment]) -> Iterator[Moment]:
        """Of these moments those that stand in files of the project, the first of each place."""
        seen: set[tuple[str, int, int]] = set()
        for moment in moments:
            place = (moment.path, moment.line, getattr(moment.value.node, "col_offset", 0))
            if self.project.holds(moment.path) and place not in seen:
                seen.add(place)
                yield moment


def read_source(module: Module, project: Project | None = None) -> Source:
    """Play a file; the project gives it the modules that it imports."""
    project = project or project_of([module])
    frame = Frame(module)
    steps = MAX_STEPS if any(word in module.text for word in WORDS) else MAX_STEPS_ASIDE
    source = Source(module, project, frame, budget=Budget(steps))
    source.globals[module.name] = frame
    reached: set[int] = set()
    stage = _stage(source, Play(None), reached)
    _play(stage, lambda: run(stage, module.tree.body, frame))
    source.plays.append(stage.play)
    for definition, owner in _definitions(frame, module):
        name = owner.name if owner is not None else definition.name
        is_elsewhere = project.is_imported(module, name) and not _is_a_framework_class(owner)
        if id(definition.node) not in reached and not is_elsewhere:
            source.plays.append(_play_alone(source, definition, owner, reached))
    return source


def sketch(text: str, **others: str) -> Source:
    """A file from its text, with other files of its project by their names: for a rule's executed examples."""
    main = parse_module(text, "script", "script.py")
    modules = [main, *(parse_module(other, name, f"{name}.py") for name, other in others.items())]
    return read_source(main, project_of(modules))


def made_alone(source: Source, definition: Definition) -> tuple[Value, Play]:
    """An instance of a class of the file, made with parameters that are not known, and what its __init__ did."""
    stage = _stage(source, Play(definition), set())
    made = Value("call", definition.node, definition.module.path, definition.name, definition=definition)
    _play(stage, lambda: initialise(stage, made, ([], {})))
    return made, stage.play


def _stage(source: Source, play: Play, reached: set[int]) -> Stage:
    return Stage(source.project, play, run, evaluate, source.globals, reached, source.budget)


def _play(stage: Stage, act: object) -> None:
    try:
        act()  # type: ignore[operator]  # a function without arguments
    except (TooLong, RecursionError):
        stage.play.is_cut = True


def _definitions(frame: Frame, module: Module) -> list[tuple[Definition, Definition | None]]:
    """The functions of a file's top level, and the methods of its classes with their class."""
    found: list[tuple[Definition, Definition | None]] = []
    for value in list(frame.values.values()):
        one = value.definition
        if one is None or one.module is not module:
            continue
        if value.kind == "function":
            found.append((one, None))
        elif value.kind == "class":
            found += [(method, one) for name, method in one.methods.items() if name != "__init__"]
    return found


def _is_a_framework_class(owner: Definition | None) -> bool:
    """Whether a framework calls the methods of a class, whoever imports it."""
    names = {name.rpartition(".")[2] for name in owner.base_names()} if owner is not None else set()
    return bool(names & {"LightningModule", "Module", "Dataset", "LightningDataModule", "Trainer", "Callback", "Model"})


def _play_alone(source: Source, definition: Definition, owner: Definition | None, reached: set[int]) -> Play:
    """A function played with parameters that are not known; a method on an instance made in silence."""
    stage = _stage(source, Play(definition), reached)

    def act() -> None:
        args: list[Value] = []
        if owner is not None:
            made = source.made.get(id(owner)) or _made_in_silence(source, owner, reached)
            args = [replace(made, fields=dict(made.fields))]
        if any(decorator.name == "staticmethod" for decorator in definition.decorators):
            args = []
        follow(stage, definition, (args, {}))

    _play(stage, act)
    return stage.play


def _made_in_silence(source: Source, owner: Definition, reached: set[int]) -> Value:
    """An instance of a class, made once with parameters that are not known; each method played alone gets a copy."""
    stage = _stage(source, Play(owner), reached)
    stage.is_quiet = True
    value = Value("call", owner.node, owner.module.path, f"{owner.module.name}.{owner.name}", definition=owner)
    source.made[id(owner)] = value
    initialise(stage, value, ([], {}))
    return value


__all__ = ["Source", "bind_parameters", "made_alone", "read_source", "sketch"]
