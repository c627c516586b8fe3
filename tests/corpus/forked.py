"""A process that has imported what the scripts import, and runs each in a fork of itself: importing costs most time.

Started as `python forked.py`. It reads one JSON object a line, `{"call": ["watch"|"plain", SCRIPT], "folder": …}`, and
answers with the exit code. The fork writes to `stdout` and `stderr` in the folder and ends as any interpreter does.
"""

from __future__ import annotations

import json
import os
import random
import runpy
import sys
from pathlib import Path


def serve() -> int | None:
    """Answers until the input ends (None); returns an exit code in the fork, which is to end with it."""
    for line in sys.stdin:
        task = json.loads(line)
        process = os.fork()
        if not process:
            return run(*task["call"], Path(task["folder"]))
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


def run(how: str, script: str, folder: Path) -> int:
    """Runs the script in this process, in `folder`."""
    for number, name in ((0, os.devnull), (1, "stdout"), (2, "stderr")):
        opened = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = os.fdopen(0, closefd=False)
    os.chdir(folder)
    for seed in (random.seed, np.random.seed, torch.seed):  # a script without a seed shall start as any does: by chance
        seed()
    if how == "watch":
        from torchstone.cli.main import main

        sys.argv[0] = "torchstone"
        return int(main(["watch", "--json", script]) or 0)
    sys.argv, sys.path[0] = [script], str(Path(script).parent)
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    import numpy as np
    import sklearn.datasets
    import sklearn.model_selection
    import sklearn.preprocessing  # noqa: F401
    import torch
    import torch.utils.data

    import torchstone.cli.main
    import torchstone.cli.watch
    import torchstone.engines.attach.wiring
    import torchstone.flows.run_script  # noqa: F401

    code = serve()
    sys.exit(code)
