"""Source rules of data, evaluation, files and several processes: harder spellings, and near-misses."""

from __future__ import annotations

import pytest

from torchstone.core.catalog import all_rules
from torchstone.parts.source.read import sketch
from torchstone.rules._sketches import DISTRIBUTED, TRAINING, changed

RULES = all_rules("torchstone.rules.source")


def alarms(source, **others):
    """The codes of all errors and warnings in a text or a source that was read."""
    source = sketch(source, **others) if isinstance(source, str) else source
    return sorted({one.code for rule in RULES for one in rule.check(source) if one.severity != "advice"})


def advice(text):
    return sorted({one.code for rule in RULES for one in rule.check(sketch(text)) if one.severity == "advice"})


def test_a_loader_is_held_out_by_its_use_or_by_its_name():
    assert alarms(changed(TRAINING, ("DataLoader(val_set)", "DataLoader(val_set, 32, drop_last=True)"))) == ["COD303"]
    named = "from torch.utils.data import DataLoader\ntest_loader = DataLoader(rows, drop_last=True)\n"
    assert alarms(named) == ["COD303"]
    assert alarms(named.replace("test_loader", "loader")) == []


@pytest.mark.parametrize(("train", "held", "found"), [
    ("rows[:80]", "rows[60:90]", ["COD306"]), ("rows[:80]", "rows[80:90]", []), ("rows[:80]", "others[60:90]", []),
    ("rows[10:]", "rows[:10]", []), ("rows[:n]", "rows[n:90]", []), ("rows[::2]", "rows[1::2]", []),
    ("Subset(rows[:80])", "Subset(rows[70:90])", ["COD306"]),
])  # fmt: skip
def test_rows_cut_by_numbers_overlap_where_the_numbers_do(train, held, found):
    assert alarms(changed(TRAINING, ("DataLoader(train_set,", f"DataLoader({train},"),
                          ("DataLoader(val_set)", f"DataLoader({held})"))) == found


def test_held_out_rows_scaled_by_the_mean_of_training_rows_do_not_overlap():
    scaled = "mean = rows[:80].mean(0)\na, b = rows[:80] - mean, rows[80:90] - mean\ntrain_loader"
    assert alarms(changed(TRAINING, ("train_loader, val", f"{scaled}, val"), ("DataLoader(train_set,", "DataLoader(a,"),
                          ("DataLoader(val_set)", "DataLoader(b)"))) == []


def test_a_test_set_scored_in_each_epoch_and_not_used_is_right():
    shown = TRAINING.replace("val_loader", "test_loader")
    assert alarms(shown) == []
    assert alarms(shown + "    if epoch % 5 == 0:\n        torch.save(model.state_dict(), 'a.pt')\n") == []
    assert alarms(shown + "    if total < best:\n        torch.save(model.state_dict(), 'a.pt')\n") == ["COD305"]


def test_shapes_are_compared_only_where_both_are_known():
    def loss(given, target):
        return alarms(changed(TRAINING, ("mse_loss(model(x), y)\n        loss.b",
                                         f"mse_loss({given}, {target})\n        loss.b")))
    assert loss("model(x)", "y.view(-1)") == ["COD213"]
    assert loss("model(x).squeeze(-1)", "y.view(-1, 1)") == ["COD213"]
    assert loss("model(x)", "y") == []
    assert loss("model(x).squeeze(1)", "y.flatten()") == []
    assert loss("model(x)[:, 0]", "y.view(-1)") == []


def test_classes_on_the_first_axis_of_something_else_are_right():
    def scored(text):
        return alarms(changed(TRAINING, ("total += nn.functional.mse_loss(model(x), y).item()", f"total += {text}")))
    assert scored("(model(x).argmax(0) == y).sum().item()") == ["COD210"]
    assert scored("(model(x).argmax(dim=-1) == y).sum().item()") == []
    assert scored("(model(x).T.argmax(0) == y).sum().item()") == []
    assert scored("(model(x).max(1, keepdim=True)[1] == y).sum().item()") == ["COD211"]
    assert scored("(model(x).max(1)[1] == y).sum().item()") == []


def test_resampling_inside_of_the_training_part_is_right():
    text = ("from imblearn.over_sampling import SMOTE\nfrom sklearn.model_selection import train_test_split\n"
            "X2, y2 = SMOTE().fit_resample(X, y)\na, b, c, d = train_test_split({}, {})\n")
    assert "COD307" in alarms(text.format("X2", "y2"))
    assert alarms(text.format("X", "y")) == []


def test_a_generator_made_for_each_row_is_right():
    text = """
import numpy as np
from torch.utils.data import DataLoader, Dataset
class Noisy(Dataset):
    def __init__(self, rows):
        self.rows, self.rng = rows, np.random.default_rng(0)
    def __getitem__(self, index):
        return self.rows[index] + self.rng.normal()
loader = DataLoader(Noisy(rows), num_workers=4)
"""
    assert alarms(text) == ["COD311"]
    assert alarms(text.replace("self.rng.normal()", "np.random.default_rng(index).normal()")) == []
    assert alarms(text.replace(", num_workers=4", "")) == []


@pytest.mark.parametrize(("old", "new", "found"), [
    ("DDP(torch", "torch.nn.parallel.DistributedDataParallel(torch", []),
    (", sampler=sampler", "", ["COD501"]),
    ("DataLoader(train_set, batch_size=32, sampler=sampler)", "DataLoader(Shard(rows, rank))", []),
    ("    sampler.set_epoch(epoch)\n", "", ["COD502"]),
    ("mse_loss(model(x)", "mse_loss(model.module.forward(x)", ["COD503"]),
    ("        torch.nn.utils", "        if rank == 0:\n            torch.nn.utils", ["COD507"]),
    ("        torch.nn.utils", "        if rank >= 0:\n            torch.nn.utils", []),
    ("        optimizer.step()\n", "        optimizer.step()\n        if rank == 0:\n            print(loss)\n", []),
])  # fmt: skip
def test_what_ranks_must_share(old, new, found):
    text = DISTRIBUTED.replace(old, new)
    assert text != DISTRIBUTED
    assert alarms(text.replace("    sampler.set_epoch(epoch)\n", "") if "COD501" in found else text) == found


def test_gradients_averaged_by_hand_are_shared():
    bare = DISTRIBUTED.replace("DDP(torch.nn.Linear(4, 1))", "torch.nn.Linear(4, 1)")
    assert alarms(bare) == ["COD508"]
    assert alarms(bare.replace("        torch.nn.utils", "        for p in model.parameters():\n"
                               "            dist.all_reduce(p.grad)\n        torch.nn.utils")) == []


def test_habits_are_advice_once_per_file():
    text = "import torch\nfrom torch import nn\nimport pickle\n" + "a = pickle.loads(b)\n" * 3
    found = [one for rule in RULES for one in rule.check(sketch(text))]
    assert [(one.code, one.severity) for one in found] == [("COD409", "advice")]
    assert advice("import torch.nn.functional as F\nF.tanh(x)\nF.tanh(y)\n") == ["COD410"]
    assert alarms("import torch\ntorch.symeig(x)\n") == ["COD410"]


def test_the_edit_of_checkpointing_adds_the_missing_option():
    text = "from torch.utils.checkpoint import checkpoint\ny = checkpoint(block, x)\n"
    found = [one for rule in RULES for one in rule.check(sketch(text))]
    assert [one.code for one in found] == ["COD408"]
    assert found[0].evidence["edits"][0]["text"] == ", use_reentrant=False"


def test_a_run_resumed_with_its_optimizer_is_right_and_a_finetuning_too():
    start = "model.load_state_dict(torch.load('a.pt', weights_only=True)['model'])\nfor epoch in"
    tuned = TRAINING.replace("for epoch in", start)
    assert alarms(tuned) == []
    saved = tuned + "    torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict()}, 'a.pt')\n"
    assert alarms(saved) == ["COD407"]
    assert alarms(saved.replace("for epoch in", "optimizer.load_state_dict(state)\nfor epoch in")) == []
