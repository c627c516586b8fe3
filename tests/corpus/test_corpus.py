"""The doctor on scripts in the manner that people write them: the cause first, nothing on those that are right."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from watching import CORPUS, expected, is_unseen, plain, reseeded, scripts, twin, watched

pytestmark = pytest.mark.slow

# Scripts that end with saved weights, of different kinds: each is run with and without the doctor.
SAVED = {
    "mended/digits_onecycle": "digits_cnn.pt", "mended/char_gru": "char_gru.pt", "mended/mini_gpt": "gpt.pt",
    "mended/vae_digits": "vae.pth", "mended/dcgan_digits": "gan.pt", "mended/seq2seq_reverse": "seq2seq.pt",
    "mended/resnet_amp": "ema.pt", "mended/graph_nodes": "gcn.pt", "healthy/sam_digits": "sam.pt",
    "healthy/pinn_lbfgs": "pinn.pt", "healthy/dqn_corridor": "dqn.pt", "healthy/wgan_gp": "wgan.pt",
}  # fmt: skip


JUDGED = (
    "test_the_cause_of_a_sick_script_is_the_first_finding",
    "test_a_right_script_draws_no_warning_and_prints_what_it_prints",
)


@pytest.fixture(scope="module")
def verdicts(request, tmp_path_factory):
    """The verdicts on all scripts that were asked for, one process per core at a time."""
    asked = [item.callspec.params["script"] for item in request.session.items if item.originalname in JUDGED]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield {script: pool.submit(watched, script, tmp_path_factory.mktemp(script.stem)) for script in asked}


@pytest.mark.parametrize("script", scripts("sick"), ids=lambda script: script.stem)
def test_the_cause_of_a_sick_script_is_the_first_finding(script, verdicts):
    if is_unseen(script):
        pytest.xfail("a kind that no rule sees yet")
    verdict = verdicts[script].result()
    assert verdict.first in expected(script), verdict.findings
    assert verdict.code == int(verdict.findings[0]["severity"] == "error")
    assert verdict.script_code == 0
    assert verdict.not_judged == ()


@pytest.mark.parametrize(
    "script", [*scripts("mended"), *scripts("healthy")], ids=lambda script: f"{script.parent.name}/{script.stem}"
)
def test_a_right_script_draws_no_warning_and_prints_what_it_prints(script, verdicts, tmp_path):
    verdict = verdicts[script].result()
    assert verdict.of("error", "warning") == [], verdict.findings
    assert verdict.code == 0
    assert verdict.not_judged == ()
    if f"{script.parent.name}/{script.stem}" in SAVED:
        assert verdict.output == plain(script, tmp_path / "plain")


@pytest.mark.parametrize("script", scripts("healthy")[::5], ids=lambda script: script.stem)
def test_another_seed_draws_no_warning_either(script, tmp_path):
    verdict = watched(reseeded(script, tmp_path, by=100), tmp_path / "run")
    assert verdict.of("error", "warning") == [], verdict.findings


@pytest.mark.parametrize("name", SAVED)
def test_the_doctor_does_not_change_a_bit_of_the_weights(name, tmp_path):
    script = CORPUS / f"{name}.py"
    watched(script, tmp_path / "watched")
    plain(script, tmp_path / "plain")
    one, other = (torch.load(tmp_path / how / SAVED[name]) for how in ("watched", "plain"))
    tensors = list(leaves(one))
    assert len(tensors) > 3
    for mine, theirs in zip(tensors, leaves(other), strict=True):
        assert torch.equal(mine, theirs)


def leaves(thing):
    """All tensors in nested mappings, in order."""
    if isinstance(thing, torch.Tensor):
        yield thing
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from leaves(value)


@pytest.mark.parametrize("script", scripts("sick"), ids=lambda script: script.stem)
def test_a_sick_script_names_its_twin(script):
    assert expected(script) or is_unseen(script)
    assert twin(script).is_file()
