"""`torchstone watch` around scripts as people write them: they end as they would without it, and are judged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from stage import COMMAND, TORCHRUN, begin, call, environment, wait_until

pytestmark = pytest.mark.integration

# A loop of 40 steps; `{clear}` is where it clears its gradients, `{end}` what it does at last.
LOOP = """
import sys
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

{top}

def main():
    torch.manual_seed(0)
    x = torch.randn(320, 6)
    y = (x[:, 0] > 0).long()
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    {wrap}
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    loader = DataLoader(TensorDataset(x, y), 32, shuffle=True{options})
    for epoch in range(4):
        for inputs, target in loader:
            {clear}
            loss = F.cross_entropy(model(inputs), target)
            loss.backward()
            optimizer.step()
    print("last loss", loss.item())
    {end}

if __name__ == "__main__":
    main()
"""
CLEAR = "optimizer.zero_grad()"


def script(path: Path, *, clear: str = "pass", **parts: str) -> Path:
    """Writes the loop with these parts; by default it never clears its gradients, which is RUN301."""
    parts = {"top": "", "wrap": "", "end": "", "options": "", **parts}
    path.write_text(LOOP.format(clear=clear, **parts), encoding="utf-8")
    return path


def watch(*words: str | Path, cwd: Path, code: int = 1) -> subprocess.CompletedProcess[str]:
    """Runs `torchstone watch` to its end, which must be `code`."""
    done = call("watch", *words, cwd=cwd)
    assert done.returncode == code, f"{done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done


def codes(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The codes in the one JSON object that is the last line."""
    return [finding["code"] for finding in json.loads(done.stdout.splitlines()[-1])["findings"]]


def test_findings_come_while_it_runs_and_the_output_stays_the_scripts_own(tmp_path: Path) -> None:
    done = watch(script(tmp_path / "train.py"), cwd=tmp_path)
    call = [sys.executable, "train.py"]
    plain = subprocess.run(call, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.stdout == plain.stdout
    assert done.stderr.startswith("torchstone RUN301 error  train.py:")


def test_a_page_is_written_beside_the_place_it_was_called_from_also_where_the_script_fails(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    end = "import os; os.chdir('elsewhere'); raise ValueError('at last')"
    watch("--report", "page.html", script(tmp_path / "train.py", end=end), cwd=tmp_path)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "RUN301" in page
    assert "<figcaption>Loss<" in page
    assert "a scheduler, a checkpoint" in page  # not seen


def test_a_healthy_script_ends_with_one_line_that_says_what_was_seen(tmp_path: Path) -> None:
    done = watch(script(tmp_path / "train.py", clear=CLEAR), cwd=tmp_path, code=0)
    assert done.stderr == "torchstone  40 steps: nothing found; not seen: validation, a scheduler, a checkpoint\n"


def test_a_script_that_crashes_keeps_its_traceback_and_exit_code_with_the_findings_above(tmp_path: Path) -> None:
    path = script(tmp_path / "train.py", end='raise KeyError("a column")')
    done = watch(path, cwd=tmp_path)
    plain = subprocess.run([sys.executable, path], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert plain.returncode == 1
    findings, _, trace = done.stderr.partition("Traceback")
    assert "RUN301" in findings
    assert "Traceback" + trace == plain.stderr


def test_a_mistake_of_syntax_is_shown_as_python_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("x = (\n", encoding="utf-8")
    done = watch(path, cwd=tmp_path)
    assert done.stderr.endswith("SyntaxError: '(' was never closed\n")
    assert "torchstone/flows" not in done.stderr


@pytest.mark.parametrize(("end", "code"), [("sys.exit(3)", 3), ("sys.exit()", 1), ("sys.exit('no data')", 1)])
def test_sys_exit_keeps_its_code_and_its_message(end: str, code: int, tmp_path: Path) -> None:
    done = watch(script(tmp_path / "train.py", end=end), cwd=tmp_path, code=code)
    assert ("no data" in done.stderr) == ("no data" in end)
    assert "Traceback" not in done.stderr


def test_options_after_the_script_are_its_own_even_where_they_look_like_ours(tmp_path: Path) -> None:
    (tmp_path / "tell.py").write_text("import sys\nprint(sys.argv)\n", encoding="utf-8")
    words = ["--json", "--rows", "x", "-m", "a", "--", "--ignore=RUN301", "--help"]
    done = watch("tell.py", *words, cwd=tmp_path, code=0)
    assert done.stdout == f"{['tell.py', *words]}\n"


def test_json_is_one_object_on_the_last_line_after_all_that_the_script_prints(tmp_path: Path) -> None:
    top = "import argparse, atexit\natexit.register(print, 'good-bye')\n"
    end = "a = argparse.ArgumentParser(); a.add_argument('--json', action='store_true'); print(a.parse_args())"
    done = watch("--json", script(tmp_path / "train.py", top=top, end=end), "--json", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[-3:-1] == ["Namespace(json=True)", "good-bye"]
    answer = json.loads(lines[-1])
    assert (answer["findings"][0]["code"], answer["exit_code"], answer["not_judged"]) == ("RUN301", 0, [])
    assert answer["seen"]["steps"] == 40
    assert done.stderr == ""


def test_modules_beside_the_script_and_paths_from_the_current_folder_work(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "words.py").write_text("GREETING = 'hello'\n", encoding="utf-8")
    (tmp_path / "data.txt").write_text("data", encoding="utf-8")
    top = "from words import GREETING\nprint(GREETING, open('data.txt').read(), __name__, __file__)"
    done = watch(script(tmp_path / "code" / "train.py", top=top).relative_to(tmp_path), cwd=tmp_path)
    assert done.stdout.startswith("hello data __main__ code/train.py\n")


def test_a_module_is_run_as_with_python_m(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    script(tmp_path / "package" / "train.py", top="from . import __name__ as name\nprint(name, sys.argv[1:])")
    done = watch("--json", "-m", "package.train", "--epochs", "4", cwd=tmp_path)
    assert done.stdout.startswith("package ['--epochs', '4']\n")
    assert codes(done) == ["RUN301"]


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_loaders_with_worker_processes_work(start: str, tmp_path: Path) -> None:
    options = f", num_workers=2, multiprocessing_context='{start}', persistent_workers=True, collate_fn=together"
    top = "def together(rows):\n    return torch.stack([r[0] for r in rows]), torch.stack([r[1] for r in rows])\n"
    done = watch("--json", script(tmp_path / "train.py", top=top, options=options), cwd=tmp_path)
    assert codes(done) == ["RUN301"]
    assert done.stdout.count("last loss") == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_model_works_and_ends_with_the_same_loss(backend: str, tmp_path: Path) -> None:
    path = script(tmp_path / "train.py", wrap=f"model = torch.compile(model, backend='{backend}', fullgraph=True)")
    done = watch("--json", path, cwd=tmp_path)
    plain = subprocess.run([sys.executable, path], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == plain.stdout.strip()
    assert codes(done) == ["RUN301"]


def test_two_ranks_under_torchrun(tmp_path: Path) -> None:
    top = "import os\nimport torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel\n"
    wrap = "dist.init_process_group('gloo'); model = DistributedDataParallel(model)"
    path = script(tmp_path / "train.py", top=top, wrap=wrap, end="dist.destroy_process_group()")
    done = call("-m", "torchstone", "watch", path, cwd=tmp_path, prefix=TORCHRUN)
    assert done.stdout.count("last loss") == 2
    assert "torchstone RUN301 error" in done.stderr
    assert "[rank 1] torchstone RUN301 error" in done.stderr
    assert done.returncode == 1


def test_an_interrupt_ends_it_with_130_and_what_was_found(tmp_path: Path) -> None:
    path = script(tmp_path / "train.py", end="import time; open('ready', 'w').close(); time.sleep(60)")
    process = begin("watch", path, cwd=tmp_path)
    assert wait_until((tmp_path / "ready").exists, process)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(30) == 130
    text = (tmp_path / "output.txt").read_text(encoding="utf-8")
    assert "RUN301" in text
    assert "Traceback" not in text


def test_a_script_without_torch_that_prints_nothing_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text("1 + 1\n", encoding="utf-8")
    done = watch("quiet.py", cwd=tmp_path, code=0)
    assert done.stdout == ""
    assert done.stderr == "torchstone  no step of a torch optimizer was seen: nothing was judged\n"


def test_a_script_that_only_predicts_says_that_no_step_was_seen(tmp_path: Path) -> None:
    text = "import torch\nmodel = torch.nn.Linear(3, 2)\nprint(model(torch.ones(1, 3)).shape)\n"
    (tmp_path / "predict.py").write_text(text, encoding="utf-8")
    done = watch("predict.py", cwd=tmp_path, code=0)
    assert "no step of a torch optimizer was seen" in done.stderr


def test_a_child_that_the_script_forks_says_nothing_of_its_own(tmp_path: Path) -> None:
    end = "import os\n    pid = os.fork()\n    if pid == 0: sys.exit(0)\n    print('child', os.waitpid(pid, 0)[1])"
    done = watch("--json", script(tmp_path / "train.py", end=end), cwd=tmp_path)
    assert done.stdout.count('"findings"') == 1
    assert "child 0" in done.stdout


def test_an_ignored_rule_leaves_the_exit_code_alone(tmp_path: Path) -> None:
    watch("--ignore", "RUN301", script(tmp_path / "train.py"), cwd=tmp_path, code=0)


def test_what_was_seen_can_be_written_down(tmp_path: Path) -> None:
    watch("--rows", "seen.jsonl", script(tmp_path / "train.py"), cwd=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "seen.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["event"] for row in (rows[0], rows[-1])] == ["start", "end"]
    assert sum(row["event"] == "step" for row in rows) == 40


@pytest.mark.parametrize("name", ["missing.py", "notes.ipynb", "."])
def test_what_cannot_be_run_is_told_with_the_way_out(name: str, tmp_path: Path) -> None:
    (tmp_path / "notes.ipynb").write_text("{}", encoding="utf-8")
    done = watch(name, cwd=tmp_path, code=2)
    assert name in done.stderr
    assert "fix:" in done.stderr
    assert COMMAND[0] not in done.stderr
