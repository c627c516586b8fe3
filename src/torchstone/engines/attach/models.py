"""Which modules are trained as a whole, what they are made of, and in which mode they run."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from torchstone.engines.attach.anatomy import describe, has_modes
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, Row, safely

# Containers that have no forward pass of their own.
_BOXES = (nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
# Optimizer steps after which a root that never ran is taken for a mere holder of its parts.
IDLE_STEPS = 2
# Forward passes with gradients after which frozen norms are looked at again.
SETTLED = 6


@dataclass
class Root:
    """A module that is part of no other one and holds trained parameters.

    training, has_grad: of its last forward pass; was_training: of its last one with gradients; forwards: passes so
    far, forwards_with_grad: those with gradients. named: the keyword inputs of a pass, while those who listen are
    called.
    """

    ref: weakref.ref[nn.Module]
    index: int
    training: bool | None = None
    has_grad: bool = False
    was_training: bool | None = None
    forwards: int = 0
    forwards_with_grad: int = 0
    has_modes: bool = False
    named: dict[str, Any] = field(default_factory=dict)
    row: Row = field(default_factory=dict)
    num_built: int = -1
    parameters: list[tuple[str, nn.Parameter]] = field(default_factory=list)
    handles: list[Any] = field(default_factory=list)
    frozen: dict[str, torch.Tensor] = field(default_factory=dict)

    def unhook(self) -> None:
        """Takes its hooks off."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


class Models:
    """Finds the roots and hooks them; `on_forward(root, inputs, output)` is called after each of their passes."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        # by id: some modules (of torchmetrics) have a hash of their own, which fails while they are built
        self._made: weakref.WeakValueDictionary[int, nn.Module] = weakref.WeakValueDictionary()
        self._num_seen = -1
        self.roots: list[Root] = []
        self.last: Root | None = None
        self.on_forward: list[Callable[[Root, tuple[Any, ...], Any], None]] = []
        self.on_every_forward: Callable[[Root], None] | None = None  # also while the recorder sleeps

    def attach(self, patches: Patches) -> None:
        """Remembers, weakly, every module that is built from now on."""
        made, recorder = self._made, self.recorder

        def make(original: Callable[..., None]) -> Callable[..., None]:
            def __init__(module: nn.Module, *args: Any, **kwargs: Any) -> None:
                original(module, *args, **kwargs)
                if recorder.is_on:
                    made[id(module)] = module

            return __init__

        patches.replace(nn.Module, "__init__", make)
        patches.at_end(self.unhook)

    def unhook(self) -> None:
        """Takes all hooks off."""
        for root in self.roots:
            root.unhook()

    def add(self, model: nn.Module) -> None:
        """A module that the user named, with its parts."""
        for module in model.modules():
            self._made[id(module)] = module

    def find(self, parameters: Iterable[torch.Tensor], *, is_new: bool = False) -> None:
        """Hooks every root that holds one of the parameters; called again, only where modules were built since.

        is_new: these parameters were not looked for before.
        """
        self._descend()
        if len(self._made) == self._num_seen and not is_new:
            return
        self._num_seen = len(self._made)
        trained = {id(parameter) for parameter in parameters}
        modules = list(self._made.values())
        if not any(id(parameter) in trained for module in modules for parameter in module.parameters(recurse=False)):
            # copied or unpickled modules are never built: look for them among all objects, which takes a moment
            # by type: some objects do things when they are asked for their class, as isinstance does
            self._made.update((id(one), one) for one in gc.get_objects() if issubclass(type(one), nn.Module))
            modules, self._num_seen = list(self._made.values()), len(self._made)
        inner = {id(part) for module in modules if not isinstance(module, _BOXES) for part in parts(module)}
        known = {id(root.ref()) for root in self.roots}
        for module in modules:
            if id(module) in inner or id(module) in known or isinstance(module, (nn.modules.loss._Loss, *_BOXES)):
                continue
            if any(id(parameter) in trained for parameter in module.parameters()):
                self._hook(module)
        self._drop_inner(inner)

    def _hook(self, module: nn.Module, parent: int | None = None) -> None:
        root, recorder = Root(weakref.ref(module), len(self.roots), has_modes=has_modes(module)), self.recorder
        is_compiling = torch.compiler.is_compiling

        def after(module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any], output: Any) -> None:
            if is_compiling():
                return
            is_known = not recorder.is_awake and root.forwards_with_grad >= SETTLED
            if is_known and recorder.is_on and torch.is_grad_enabled():
                self._glance(root, module.training)
                return
            root.named = named
            self._see(root, module, inputs, output)
            root.named = {}

        root.handles.append(module.register_forward_hook(after, with_kwargs=True))
        self.roots.append(root)
        root.row = recorder.note("model", **describe(module, root.index), forwards=0, parent=parent)

    def _glance(self, root: Root, training: bool) -> None:
        """A pass with gradients that is slept through: counted, and whether the mode is another one than before."""
        try:
            if training is not root.was_training and root.has_modes:
                self.recorder.alarm()
            root.training = root.was_training = training
            root.has_grad = True
            self._count(root)
        except Exception as error:
            self.recorder.blame("Models._glance", error)

    def _count(self, root: Root) -> None:
        root.forwards += 1
        root.row["forwards"] = root.forwards
        root.forwards_with_grad += root.has_grad
        self.recorder.count["forwards"] += 1
        self.last = root
        if self.on_every_forward is not None:
            self.on_every_forward(root)

    @safely
    def _see(self, root: Root, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        root.training, root.has_grad = module.training, torch.is_grad_enabled()
        self._count(root)
        if root.has_grad:
            root.was_training = root.training
            if root.forwards_with_grad in (1, SETTLED):
                self._look_at_frozen(root, module)
        if self.recorder.is_awake or not root.has_grad:
            for listener in self.on_forward:
                listener(root, inputs, output)

    @staticmethod
    def _look_at_frozen(root: Root, module: nn.Module) -> None:
        """Frozen norms in train mode whose scales stand still; those of a copy that is averaged do not."""
        if root.forwards_with_grad == 1:
            moving = [name for name in root.row["frozen_norms"] if module.get_submodule(name).training]
            root.frozen = {name: module.get_parameter(f"{name}.weight").detach().clone() for name in moving}
            return
        root.row["frozen_norms_in_training"] = [
            name for name, scales in root.frozen.items() if torch.equal(scales, module.get_parameter(f"{name}.weight"))
        ]

    def names(self) -> dict[int, str]:
        """Id of each parameter of the roots → its name there."""
        modules = [module for root in self.roots if (module := root.ref()) is not None]
        return {id(parameter): name for module in modules for name, parameter in module.named_parameters()}

    def outermost(self) -> list[nn.Module]:
        """Every module that was built and is part of no other one, containers and losses left out."""
        modules = list(self._made.values())
        inner = {id(child) for module in modules for child in module.children()}
        return [m for m in modules if id(m) not in inner and not isinstance(m, (nn.modules.loss._Loss, *_BOXES))]

    def note_unowned(self, owners: Mapping[int, Any]) -> None:
        """Into the row of each root: its parameters that have gradients and are in no optimizer, and since when."""
        for root in self.roots:
            module = root.ref()
            if module is None or not root.handles:
                continue
            if root.num_built != self._num_seen or self.recorder.step % 8 == 0:  # a parameter may have been replaced
                root.num_built, root.parameters = self._num_seen, list(module.named_parameters())
            unowned = [
                name for name, parameter in root.parameters
                if parameter.grad is not None and parameter.requires_grad and id(parameter) not in owners
            ]  # fmt: skip
            before = root.row.get("unowned_looks", 0)
            root.row["unowned"], root.row["num_unowned"] = unowned[:20], len(unowned)
            root.row["unowned_looks"] = before + 1 if unowned else 0

    def _descend(self) -> None:
        """Hooks the children of roots whose own forward never runs: their parts are called one by one."""
        if self.recorder.step < IDLE_STEPS:
            return
        for root in list(self.roots):
            module = root.ref()
            if module is None or root.forwards or not root.handles:
                continue
            root.unhook()
            for child in module.children():
                if any(parameter.requires_grad for parameter in child.parameters()):
                    self._hook(child, parent=root.index)

    def _drop_inner(self, inner: set[int]) -> None:
        """A root that has become a part of another one, such as a model that DDP was laid around."""
        for root in self.roots:
            if id(root.ref()) in inner:
                root.unhook()


def parts(module: nn.Module) -> Iterator[nn.Module]:
    """The children of a module, and what lies in those of them that are mere containers, such as a list of layers."""
    for child in module.children():
        yield child
        if isinstance(child, _BOXES):
            yield from parts(child)
