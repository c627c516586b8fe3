"""The files of an audit: which ones, what they are called as modules, and what they import from beside them."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from torchstone.core.errors import StoneError
from torchstone.parts.source.module import Module, UnreadableSource, read_module

# Folders that hold no code of the project.
PASSED_OVER = frozenset({
    "__pycache__", "node_modules", "site-packages", "venv", "env", "build", "dist", "wandb", "mlruns",
})  # fmt: skip
SUFFIXES = (".py", ".ipynb")
# A file that imports none of these is read for those that import it, and not judged itself.
LIBRARIES = (
    "torch", "torchvision", "torchaudio", "torchtext", "lightning", "pytorch_lightning", "lightning_fabric",
    "transformers", "accelerate", "peft", "trl", "timm", "keras", "tensorflow", "tf_keras", "sklearn", "imblearn",
    "deepspeed", "fastai", "ignite", "skorch", "xgboost", "lightgbm", "datasets", "monai", "torchmetrics", "jax",
)  # fmt: skip
# Files that are read beside those asked for, because these import them.
MAX_BESIDE = 200


def find_sources(paths: Sequence[Path], exclude: Sequence[str]) -> list[tuple[Path, Path]]:
    """Every .py and .ipynb file of the paths with the folder that its module name counts from, each once.

    exclude: patterns of paths (`tests/*`, `*_old.py`). Raises StoneError for a path that is not there or no code.
    """
    found: dict[Path, tuple[Path, Path]] = {}
    for path in paths:
        if not path.exists():
            raise StoneError("there is no such file or folder", where=str(path), fix="name Python files or folders")
        if path.is_file() and path.suffix not in SUFFIXES:
            raise StoneError(f"audit reads .py and .ipynb files, not '{path.suffix or path.name}'", where=str(path),
                             fix="name Python files, notebooks or folders")
        inner = [path] if path.is_file() else _within(path)
        for one in inner:
            if not _is_excluded(one, exclude):
                found.setdefault(one.resolve(), (one, _root(path if path.is_dir() else path.parent)))
    return list(found.values())


def _within(folder: Path) -> Iterator[Path]:
    """The sources below a folder in order; hidden folders, environments and links out of it are passed over."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink():
            continue
        if entry.is_dir():
            is_hidden = entry.name.startswith(".") or entry.name in PASSED_OVER or (entry / "pyvenv.cfg").exists()
            if not is_hidden:
                yield from _within(entry)
        elif entry.suffix in SUFFIXES and entry.is_file():
            yield entry


def _is_excluded(path: Path, exclude: Iterable[str]) -> bool:
    return any(fnmatch.fnmatch(path.as_posix(), pattern) or fnmatch.fnmatch(path.name, pattern)
               or path.match(pattern) for pattern in exclude)  # fmt: skip


def _root(folder: Path) -> Path:
    """The folder that module names count from: above the topmost package that holds `folder`."""
    folder = folder.resolve()
    while (folder / "__init__.py").exists() and folder.parent != folder:
        folder = folder.parent
    return folder


def module_name(path: Path, root: Path) -> str:
    """The dotted name of a file below a root; a `src` folder at the top is no part of it."""
    try:
        parts = list(path.resolve().relative_to(root).with_suffix("").parts)
    except ValueError:
        parts = [path.stem]
    return ".".join(parts[1:] if len(parts) > 1 and parts[0] in ("src", "lib") else parts)


def read_all(sources: Sequence[tuple[Path, Path]]) -> list[Module]:
    """The modules of the files; one that cannot be read is an empty module that says why (`unreadable`)."""
    return [_read(path, root) for path, root in sources]


def _read(path: Path, root: Path) -> Module:
    name = module_name(path, root)
    try:
        return read_module(path, name, str(path))
    except UnreadableSource as error:
        return Module(str(path), name, "", ast.Module([], []), unreadable=(error.reason, error.line))
    except OSError as error:
        return Module(str(path), name, "", ast.Module([], []), unreadable=(str(error.strerror or error), 0))


def read_beside(modules: Sequence[Module], sources: Sequence[tuple[Path, Path]]) -> list[Module]:
    """What the modules import from files beside them that were not asked for: read to be followed, not to be judged."""
    known = {module.name for module in modules}
    roots = {str(path): root for path, root in sources}
    todo = list(modules)
    found: list[Module] = []
    while todo and len(found) < MAX_BESIDE:
        module = todo.pop(0)
        root = roots[module.path]
        for path in _imported_files(module, root):
            name = module_name(path, root)
            if name not in known and _is_of_the_project(name, module, root):
                known.add(name)
                one = _read(path, root)
                roots[one.path] = root
                found.append(one)
                todo.append(one)
    return found


def _is_of_the_project(name: str, importer: Module, root: Path) -> bool:
    """Whether a file is the project's own: not a library that happens to lie beside it, as installed packages do."""
    top = name.partition(".")[0]
    if top == importer.name.partition(".")[0]:
        return True
    return top not in LIBRARIES and root.name not in ("site-packages", "dist-packages")


def _imported_files(module: Module, root: Path) -> Iterator[Path]:
    """The files below the root, or beside the module, that its imports name."""
    folders = dict.fromkeys((root, root / "src", Path(module.path).resolve().parent))
    for name in sorted(name for name in module.imported if name and not name.startswith(".")):
        tail = Path(*name.split("."))
        for path in (place for folder in folders for place in (folder / f"{tail}.py", folder / tail / "__init__.py")):
            if path.is_file():
                yield path


def is_judged(module: Module) -> bool:
    """Whether rules are asked about a file: it could not be read, or it imports a library that trains."""
    return module.unreadable is not None or module.imports(*LIBRARIES)
