"""Source rules of order and wiring: harder spellings that must be found, near-misses that must not."""

from __future__ import annotations

import pytest

from torchstone.core.catalog import all_rules
from torchstone.parts.source.read import sketch
from torchstone.rules._sketches import ACCUMULATED, SCALED, TRAINING, changed

RULES = all_rules("torchstone.rules.source")


def alarms(source):
    """The codes of all errors and warnings in a text or a source that was read."""
    source = sketch(source) if isinstance(source, str) else source
    return sorted({one.code for rule in RULES for one in rule.check(source) if one.severity != "advice"})


TRAINER = """
import torch
from torch import nn, optim
from net import Net
class Trainer:
    def __init__(self, model):
        self.model, self.criterion = model, nn.MSELoss()
        self.optimizer = optim.Adam(self.model.parameters(), lr=1e-3)
    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()
    def validate(self, loader):
        self.model.eval()
        with torch.no_grad():
            return [self.criterion(self.model(x), y).item() for x, y in loader]
    def fit(self, train_loader, val_loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in train_loader:
                self.step(x, y)
            self.validate(val_loader)
Trainer(Net()).fit(torch.utils.data.DataLoader(a), torch.utils.data.DataLoader(b), 3)
"""
NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))
    def forward(self, x):
        return self.body(x)
"""


def in_trainer(old="", new=""):
    assert old in TRAINER
    return alarms(sketch(TRAINER.replace(old, new) if old else TRAINER, net=NET))


def test_a_right_trainer_class_over_two_files_draws_nothing():
    assert in_trainer() == []


@pytest.mark.parametrize(("old", "new", "code"), [
    ("        self.optimizer.zero_grad()\n", "", "COD101"),
    ("        self.optimizer.step()\n", "        self.optimizer.zero_grad()\n        self.optimizer.step()\n",
     "COD102"),
    ("        return loss.item()\n", "        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)\n", "COD110"),
    ("            self.model.train()\n", "", "COD108"),
])  # fmt: skip
def test_a_fault_is_found_in_the_methods_of_a_trainer_class(old, new, code):
    assert in_trainer(old, new) == [code]


def test_gradients_cleared_by_hand_are_cleared():
    by_hand = "for p in model.parameters():\n            p.grad = None"
    assert alarms(changed(TRAINING, ("optimizer.zero_grad()", by_hand))) == []
    assert alarms(changed(TRAINING, ("optimizer.zero_grad()", "model.zero_grad(set_to_none=True)"))) == []


def test_a_function_that_is_not_seen_may_divide_the_loss():
    assert alarms(changed(ACCUMULATED, (" / 4\n", "\n    loss = shrink(loss)\n"))) == []


def test_a_loop_of_micro_batches_must_divide_clear_outside_and_step_the_schedule_outside():
    loop = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
for step in range(100):
    optimizer.zero_grad()
    for micro in range(4):
        loss = torch.nn.functional.mse_loss(model(x[micro]), y[micro]) / 4
        loss.backward()
    optimizer.step()
    scheduler.step()
"""
    assert alarms(loop) == []
    assert alarms(loop.replace(" / 4", "")) == ["COD115"]
    assert alarms(loop.replace("    scheduler.step()", "").replace(
        "        loss.backward()\n", "        loss.backward()\n        scheduler.step()\n")) == ["COD104"]
    assert alarms(loop.replace("range(4)", "range(1)").replace(" / 4", "")) == []


def test_a_critic_with_steps_of_its_own_is_no_accumulation():
    critic = """
import torch
made, judge = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
opt_made, opt_judge = torch.optim.Adam(made.parameters()), torch.optim.Adam(judge.parameters())
for x in loader:
    for _ in range(5):
        opt_judge.zero_grad()
        loss = judge(made(noise()).detach()).mean() - judge(x).mean()
        loss.backward()
        opt_judge.step()
    opt_made.zero_grad()
    other = -judge(made(noise())).mean()
    other.backward()
    opt_made.step()
"""
    assert alarms(critic) == []


def test_a_scaler_in_a_class_is_known_and_a_module_called_scaler_is_none():
    assert alarms(changed(SCALED)) == []
    unscaled = changed(SCALED, ('scaler = torch.amp.GradScaler("cuda")\n', ""), ("scaler.scale(loss)", "loss"),
                       ("    scaler.unscale_(optimizer)\n", ""),
                       ("scaler.step(optimizer)\n    scaler.update()", "optimizer.step()"))
    assert alarms(unscaled) == ["COD112"]


def test_a_plateau_in_mode_max_or_of_a_loss_is_right():
    def plateau(options, given):
        return alarms(changed(TRAINING, (
            "CosineAnnealingLR(optimizer, T_max=epochs * len(train_loader))", f"ReduceLROnPlateau(optimizer{options})"),
            ("        scheduler.step()\n", ""),
            ("    model.eval()\n", f"    model.eval()\n    scheduler.step({given})\n")))
    assert plateau("", "val_acc") == ["COD131"]
    assert plateau("", "self.best_iou") == ["COD131"]
    assert plateau(", 'max'", "val_acc") == []
    assert plateau("", "1 - val_acc") == []
    assert plateau("", "val_acc_loss") == []


def test_a_frozen_model_may_be_in_the_loss_and_in_no_optimizer():
    def with_head(more):
        return alarms(changed(TRAINING, ("optimizer = ", f"head = nn.Linear(1, 1)\n{more}optimizer = "), (
            "mse_loss(model(x), y)\n        loss.b", "mse_loss(head(model(x)), y)\n        loss.b")))
    assert with_head("") == ["COD141"]
    assert with_head("head.requires_grad_(False)\n") == []
    assert with_head("head.load_state_dict(state)\n") == []
    assert with_head("both = nn.ModuleList([model, head])\n") == []


def test_norms_of_a_frozen_body_are_right_where_train_is_overruled():
    freeze = "for p in model[:3].parameters():\n    p.requires_grad = False\n"
    frozen = TRAINING.replace("optimizer = ", f"{freeze}optimizer = ")
    assert alarms(frozen) == []
    whole = "model = nn.Sequential(body, nn.Linear(8, 1))\nbody.requires_grad_(False)\n"
    part = "body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))\n"
    body = TRAINING.replace("optimizer = ", f"{part}{whole}optimizer = ")
    assert alarms(body) == ["COD139"]
    assert alarms(body.replace("    model.train()\n", "    model.train()\n    model[0].eval()\n")) == []


def test_best_weights_that_are_copied_or_loaded_from_a_file_are_right():
    kept = TRAINING.replace("    model.eval()\n", "    model.eval()\n    if total < best:\n        kept = HERE\n")
    kept += "model.load_state_dict(kept)\n"
    assert alarms(kept.replace("HERE", "model.state_dict()")) == ["COD137"]
    assert alarms(kept.replace("HERE", "{k: v.clone() for k, v in model.state_dict().items()}")) == []
    assert alarms(kept.replace("HERE", "copy.deepcopy(model.state_dict())")) == []


def test_another_seed_in_each_epoch_is_right():
    def seeded(number):
        seed = f"    torch.manual_seed({number})\n"
        return alarms(changed(TRAINING, ("    model.train()\n", f"{seed}    model.train()\n")))
    assert seeded("0") == ["COD136"]
    assert seeded("1000 + epoch") == []


def test_a_graph_cut_beside_a_whole_way_is_a_target_and_no_fault():
    net = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 8)
    def forward(self, x):
        z = self.body(x)
        return self.head(z) + z.detach()
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
"""
    assert alarms(net) == []
    assert alarms(net.replace("self.head(z) + z.detach()", "self.head(z.detach())")) == ["COD142"]
    assert alarms(net.replace("self.head(z) + z.detach()", "self.head(z.data)")) == ["COD142"]


TWO = """
import torch
one, two = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
first, second = torch.optim.SGD(one.parameters(), lr=0.1), torch.optim.SGD(two.parameters(), lr=0.1)
for x, y in loader:
    first.zero_grad()
    second.zero_grad()
    loss = torch.nn.functional.mse_loss(two(one(x)), y)
    loss.backward()
    first.step()
    second.step()
"""


def test_each_of_two_optimizers_is_cleared_and_stepped():
    assert alarms(TWO) == []
    assert alarms(TWO.replace("    second.zero_grad()\n", "")) == ["COD143"]
    assert alarms(TWO.replace("    second.zero_grad()\n", "    two.zero_grad()\n")) == []
    unknown = "    for each in all_of:\n        each.zero_grad()\n"
    assert alarms(TWO.replace("    second.zero_grad()\n", unknown)) == []
    assert alarms(TWO.replace("    second.step()\n", "")) == ["COD135"]
    assert alarms(TWO.replace("    second.step()\n", "    engine.advance(second)\n")) == []


def test_scores_taken_in_the_step_itself_are_no_evaluation():
    full = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(100):
    with torch.no_grad():
        target = model(x)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), target + y)
    loss.backward()
    optimizer.step()
"""
    assert alarms(full) == []
    scored = full + "with torch.no_grad():\n    print((model(x_val) - y_val).abs().mean())\n"
    assert alarms(scored) == ["COD145"]
    assert alarms(scored.replace("    print", "    model.eval()\n    print")) == []
