"""The files of a project together: who imports whom, and the globals of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from torchstone.parts.source.module import Module


@dataclass(eq=False)
class Project:
    """Modules by dotted name. imported: every name that some file imports, by the files that do."""

    modules: list[Module]
    by_name: dict[str, Module] = field(init=False)
    importers: dict[str, set[str]] = field(init=False)
    paths: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.by_name = {module.name: module for module in self.modules}
        self.paths = frozenset(module.path for module in self.modules)
        self.importers = {}
        for module in self.modules:
            for name in module.imported:
                self.importers.setdefault(name, set()).add(module.path)

    def module(self, name: str, importer: Module) -> Module | None:
        """The module that a file means by a dotted name: of the project, or beside the file."""
        beside = ".".join([*importer.name.split(".")[:-1], name])
        for one in (name, beside):
            if one in self.by_name:
                return self.by_name[one]
            if f"{one}.__init__" in self.by_name:
                return self.by_name[f"{one}.__init__"]
        return None

    def holds(self, path: str) -> bool:
        """Whether a file is one of the project."""
        return path in self.paths

    def is_imported(self, module: Module, name: str) -> bool:
        """Whether another file imports a name of a module (or the module whole, or everything of it)."""
        own = module.name.removesuffix(".__init__")
        tails = {own, own.rpartition(".")[2]}
        wanted = {f"{tail}.{name}" for tail in tails} | {f"{tail}.*" for tail in tails} | tails
        return any(path != module.path for one in wanted for path in self.importers.get(one, ()))


def project_of(modules: Iterable[Module]) -> Project:
    """The project of these modules."""
    return Project(list(modules))
