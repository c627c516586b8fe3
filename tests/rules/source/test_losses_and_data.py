"""Source rules of losses, splits and leftovers: harder spellings that must be found, near-misses that must not."""

from __future__ import annotations

from torchstone.core.catalog import all_rules
from torchstone.parts.source.read import sketch

RULES = all_rules("torchstone.rules.source")


def codes(text, **others):
    """The codes of all findings in a text, without those about order of calls."""
    source = sketch(text, **others)
    return sorted({one.code for rule in RULES for one in rule.check(source) if not one.code.startswith("COD1")})


TRAINER = """
from torch import nn, optim
from model import Net
class Trainer:
    def __init__(self, model):
        self.model, self.criterion = model, nn.BCEWithLogitsLoss()
    def fit(self, loader):
        for x, y in loader:
            loss = self.criterion(self.model(x), y)
Trainer(Net()).fit(loader)
"""
MODEL = """
import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 1)
    def forward(self, x):
        return torch.sigmoid(self.head(x)).squeeze(1)
"""


def test_a_sigmoid_is_found_in_another_file_through_a_trainer_class():
    assert codes(TRAINER, model=MODEL) == ["COD202"]
    assert codes(TRAINER, model=MODEL.replace("torch.sigmoid(self.head(x))", "self.head(x)")) == []


def test_a_sigmoid_on_one_branch_only_is_not_certain():
    both = "if not self.training:\n            return self.head(x)\n        return torch"
    branch = MODEL.replace("return torch", both)
    assert codes(TRAINER, model=branch) == []


HEAD = "import torch.nn.functional as F\nfrom torch import nn\nhead = nn.Linear(8, 1)\nfor x, y in loader:\n    loss = "


def test_one_output_per_candidate_reshaped_is_no_single_class():
    assert codes(f"{HEAD}F.cross_entropy(head(x), y)\n") == ["COD205"]
    assert codes(f"{HEAD}F.cross_entropy(head(x).view(-1, 4), y)\n") == []
    assert codes(f"{HEAD}F.cross_entropy(head(x).squeeze(-1), y)\n") == []


def test_nll_through_picked_rows_and_of_log_softmax():
    assert codes(f"{HEAD}F.nll_loss(F.softmax(head(x), dim=1)[mask], y[mask])\n") == ["COD203"]
    assert codes(f"{HEAD}F.nll_loss(F.softmax(head(x), dim=1).log(), y)\n") == []


def test_kl_of_a_temperature_scaled_log_softmax_is_right():
    assert codes(f"{HEAD}F.kl_div(F.softmax(head(x) / 2, dim=1), y)\n") == ["COD206"]
    assert codes(f"{HEAD}F.kl_div(F.log_softmax(head(x) / 2, dim=1), y)\n") == []


SAVE = "import torch\n"


def test_a_state_under_a_models_name_is_no_whole_model():
    assert codes(f"{SAVE}model_state = collect()\ntorch.save(model_state, 'a.pt')\n") == []
    assert codes(f"{SAVE}net_weights = torch.nn.Parameter(torch.zeros(3))\ntorch.save(net_weights, 'a.pt')\n") == []
    compiled = "model = torch.compile(torch.nn.Linear(2, 1))\ntorch.save(model, 'a.pt')\n"
    assert codes(SAVE + compiled) == ["COD402"]


def test_the_edit_of_an_old_autocast_keeps_its_options():
    source = sketch("import torch\nwith torch.cuda.amp.autocast(enabled=on, dtype=torch.float16):\n    pass\n")
    finding = next(one for rule in RULES for one in rule.check(source) if one.code == "COD403")
    assert [one["text"] for one in finding.evidence["edits"]] == [
        'torch.amp.autocast("cuda", enabled=on, dtype=torch.float16)']


def test_an_old_autocast_given_by_position_or_alias_is_told_without_an_edit():
    for call in ("import torch\ntorch.cuda.amp.autocast(True)\n",
                 "from torch.cuda.amp import autocast\nautocast(enabled=True)\n"):
        source = sketch(call)
        finding = next(one for rule in RULES for one in rule.check(source) if one.code == "COD403")
        assert "edits" not in finding.evidence


SPLIT = ("from sklearn.preprocessing import StandardScaler, LabelEncoder\nfrom sklearn.manifold import TSNE\n"
         "from imblearn.over_sampling import SMOTE\nfrom sklearn.model_selection import train_test_split\n")


def test_resampling_before_the_split_is_found_and_labels_encoded_before_it_are_not():
    assert codes(f"{SPLIT}X, y = SMOTE().fit_resample(X, y)\na, b, c, d = train_test_split(X, y)\n") == ["COD307"]
    assert codes(f"{SPLIT}y = LabelEncoder().fit_transform(y)\na, b, c, d = train_test_split(X, y)\n") == []


def test_what_can_only_be_fitted_may_be_fitted_on_each_part():
    twice = "a, b, c, d = train_test_split(X, y)\nt = {}\np = t.fit_transform(a)\nq = t.fit_transform(b)\n"
    assert codes(SPLIT + twice.format("StandardScaler()")) == ["COD302"]
    assert codes(SPLIT + twice.format("TSNE()")) == []
