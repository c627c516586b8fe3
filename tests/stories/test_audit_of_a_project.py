"""A project with faults in three files: audit says which, --fix mends what is certain, a person the rest."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from stage import begin, call, told, wait_until

MODEL = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return torch.softmax(self.layer(x), dim=1)
"""
PREDICT = """import torch

from model import Net

net = Net()
net.load_state_dict(torch.load("net.pt", weights_only=False))
print(net.eval()(torch.zeros(1, 4)).argmax(1))
"""
TRAIN = """import torch
import torch.nn.functional as F

from model import Net

torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(64, 4), torch.randint(0, 2, (64,))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8, shuffle=True)
for epoch in range(2):
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
torch.save(net.state_dict(), "net.pt")
"""
CELL = ["import torch\n", "state = torch.load('net.pt', weights_only=False)"]


def project(folder: Path) -> Path:
    (folder / "model.py").write_text(MODEL)
    (folder / "predict.py").write_text(PREDICT)
    (folder / "train.py").write_bytes(TRAIN.replace("\n", "\r\n").encode())
    book = {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [{"text": "é"}], "source": CELL}], "nbformat": 4}
    (folder / "look.ipynb").write_text(json.dumps(book, indent=1, ensure_ascii=False), encoding="utf-8")
    return folder


def codes(folder: Path, *words: str, code: int) -> set[tuple[str, str]]:
    """The warnings and errors of an audit: code and file."""
    found = json.loads(told("audit", ".", "--json", *words, cwd=folder, code=code).splitlines()[0])["findings"]
    return {(one["code"], one["where"]["path"]) for one in found if one["severity"] != "advice"}


def test_audit_names_the_faults_fix_mends_and_the_rest_is_mended_by_hand(tmp_path) -> None:
    folder = project(tmp_path)
    book = (folder / "look.ipynb").read_text(encoding="utf-8")
    faults = {("COD401", "look.ipynb"), ("COD401", "predict.py"), ("COD201", "train.py"), ("COD101", "train.py")}
    assert codes(folder, code=1) == faults
    text = told("audit", cwd=folder, code=1)
    assert "train.py:13:9: COD201 error: " in text
    assert "look.ipynb, cell 1, line 2: COD401 warning: " in text
    assert "2 errors, 2 warnings" in text

    assert told("audit", "--fix", cwd=folder, code=1).endswith("mended 2 places in 2 files\n")
    assert codes(folder, code=1) == {("COD201", "train.py"), ("COD101", "train.py")}
    assert (folder / "look.ipynb").read_text(encoding="utf-8") == book.replace("False", "True")
    assert (folder / "train.py").read_bytes() == TRAIN.replace("\n", "\r\n").encode()

    model = (folder / "model.py").read_text()
    (folder / "model.py").write_text(model.replace("torch.softmax(self.layer(x), dim=1)", "self.layer(x)"))
    train = TRAIN.replace("        loss.backward", "        optimizer.zero_grad()\n        loss.backward")
    (folder / "train.py").write_text(train)
    assert codes(folder, code=0) == set()
    for script in ("train.py", "predict.py"):
        assert call(script, cwd=folder, prefix=[sys.executable]).returncode == 0


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to see the processes that read")
def test_ctrl_c_while_several_processes_read_is_one_word_and_130(tmp_path) -> None:
    for number in range(1500):
        (tmp_path / f"train_{number}.py").write_text(MODEL + TRAIN)
    process = begin("audit", "--jobs", "2", ".", cwd=tmp_path)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    assert wait_until(lambda: len(children.read_text().split()) == 2, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    assert process.wait(60) == 130
    assert (tmp_path / "output.txt").read_text().strip() == "interrupted"
