"""Runs a script as `python SCRIPT` would, in this process, under the doctor."""

from __future__ import annotations

import importlib.util
import json
import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from torchstone.core.errors import StoneError
from torchstone.core.store import clean, write_text
from torchstone.flows.watch import Doctor

INTERRUPTED = 130


def find_script(script: str, *, is_module: bool = False) -> None:
    """Raises StoneError where there is no such script or module."""
    if is_module:
        sys.path.insert(0, os.getcwd())
        try:
            is_there = importlib.util.find_spec(script) is not None
        except (ImportError, ValueError):
            is_there = False
        if not is_there:
            raise StoneError(f"there is no module '{script}'", where="the call", fix="name it as after python -m")
        return
    path = Path(script)
    if path.is_dir() and (path / "__main__.py").is_file():
        return
    if not path.is_file():
        what = "this is a folder without __main__.py" if path.is_dir() else "there is no such file"
        raise StoneError(what, where=script, fix="give the path of a Python script, and its arguments after it")
    if path.suffix == ".ipynb":
        raise StoneError("this is a notebook, not a script", where=script,
                         fix="inside of it: with torchstone.watch(model, optimizer): …")


def run_script(
    script: str, arguments: Sequence[str], *, doctor: Doctor, is_module: bool = False, rows_file: Path | None = None
) -> int:
    """Runs it with `arguments`; returns its own exit code, as the shell would see it.

    The doctor's findings come before the traceback of a script that fails. rows_file: where to write what was seen.
    """
    sys.argv = [script, *arguments]
    if not is_module:
        sys.path[0] = str(Path(script).resolve().parent)
    doctor.start(is_script=True)
    process = os.getpid()
    code, failure = 0, None
    try:
        if is_module:
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        code = exit_code(stop)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BaseException as error:
        code, failure = 1, error
    finally:
        if os.getpid() == process:
            doctor.stop()
        else:  # a child that the script has forked: it ends on its own, and has nothing to tell
            doctor.leave()
    if rows_file is not None and os.getpid() == process:
        write_text(rows_file, "".join(json.dumps(clean(row), ensure_ascii=False) + "\n" for row in doctor.rows))
    if failure is not None:
        sys.stdout.flush()
        traceback.print_exception(type(failure), failure, own_part(failure.__traceback__))
    return code


def exit_code(stop: SystemExit) -> int:
    """The number that `sys.exit(…)` means; a message goes to standard error, as Python does it."""
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code
    print(stop.code, file=sys.stderr)
    return 1


def own_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the script's own first frame on; None where it failed before one of its lines ran."""
    at = trace
    while at is not None and (at.tb_frame.f_code.co_filename == __file__ or "runpy" in at.tb_frame.f_code.co_filename):
        at = at.tb_next
    return at
