"""Faults that can be seen in code are named by their cause, and right scripts are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchstone.core.catalog import all_rules
from torchstone.parts.source.module import parse_module
from torchstone.parts.source.read import read_source

RULES = all_rules("torchstone.rules.source")
REPOSITORY = Path(__file__).parents[3]
CORPUS = REPOSITORY / "tests" / "corpus"
# The rule that names the cause of each script. Empty: the fault can be seen in the code, and no rule names it yet.
# What stands in no table has faults of numbers and data, which code does not show.
FAULTS = {
    "F01_no_zero_grad_bad": "COD101", "F03_softmax_layer_then_ce_bad": "COD201",
    "F05_sigmoid_then_bcelogits_bad": "COD202", "F07_mse_broadcast_bad": "COD213",
    "F09_val_without_eval_bad": "COD107", "F11_loss_sum_keeps_graph_bad": "COD117",
    "F13_scheduler_before_optimizer_bad": "COD103", "F15_accum_not_divided_bad": "COD115",
    "F17_fp16_no_scaler_bad_static": "COD112", "F19_clip_after_step_bad": "COD110",
    "F21_layers_in_list_bad": "COD118", "F23_everything_frozen_but_bn_bad": "", "F25_require_grad_typo_bad": "COD121",
    "F27_model_selection_on_test_bad": "COD305", "F29_softmax_over_batch_bad": "COD210",
    "F31_drop_last_on_eval_bad": "COD303", "F33_bn_frozen_by_grad_only_bad": "COD139",
    "F41_val_overlaps_train_bad": "COD306", "F43_ddp_no_sampler_bad_static": "COD501",
    "F45_ddp_bypassed_bad_static": "COD503", "F47_resume_without_optimizer_bad": "COD406",
    "F49_detach_in_forward_bad": "COD142", "F51_optimizer_each_epoch_bad": "COD126",
    "F53_tmax_in_epochs_stepped_per_batch_bad": "COD105", "F57_no_seed_bad": "COD412",
    "F59_double_normalised_bad": "",
}  # fmt: skip
SICK = {
    "accuracy_with_dropout": "COD107", "adam_made_each_epoch": "COD126", "adapters_in_a_list": "COD118",
    "argmax_over_batch": "COD210", "attention_drops_in_eval": "COD130", "bce_broadcast_by_hand": "",
    "best_weights_not_copied": "COD137", "bf16_with_scaler": "COD113", "box_loss_as_number": "COD124",
    "checkpointed_seeded_again": "COD136", "cleared_before_step": "COD102", "cleared_each_micro_batch": "COD144",
    "clip_scaled_gradients": "COD111", "clipped_before_backward": "COD110", "compiled_state_cleared": "COD134",
    "correct_by_broadcast": "COD211", "cosine_in_epochs_per_batch": "COD105", "cross_entropy_of_one_logit": "COD205",
    "decay_of_rate_per_batch": "COD105", "decoder_never_stepped": "", "dice_of_argmax": "",
    "discriminator_not_cleared": "COD143", "divided_twice": "COD138", "estimate_in_train_mode": "COD145",
    "eta_min_above_rate": "COD132", "eval_mode_stays": "COD108", "evaluation_builds_graphs": "COD109",
    "evaluation_drawn_at_random": "COD304", "evaluation_without_eval": "COD107", "fake_detached_for_generator": "",
    "fake_not_detached": "COD148", "floor_above_rate": "COD132", "frozen_on_the_module": "COD122",
    "frozen_statistics_move": "", "generator_counts_by_broadcast": "COD211", "generator_in_wrong_optimizer": "COD141",
    "generator_never_stepped": "COD135", "graph_tested_in_train_mode": "COD145", "half_without_scaler": "COD112",
    "head_after_optimizer": "COD119", "iou_for_a_min_plateau": "COD131", "kl_mean": "COD212",
    "last_batch_of_test_dropped": "COD303", "latent_detached": "", "layer_made_in_forward": "COD127",
    "layers_in_a_dict": "COD118", "lightning_encoder_alone": "COD151", "logged_loss_keeps_graph": "COD117",
    "loss_made_a_leaf": "COD124", "losses_kept_in_list": "COD117", "micro_batches_not_divided": "COD115",
    "noise_generator_in_workers": "COD311", "norms_alone": "COD140", "onecycle_stepped_per_epoch": "COD106",
    "optimizer_not_resumed": "COD407", "optimizer_of_old_model": "COD141", "outputs_kept_in_list": "COD117",
    "own_formula_in_train_mode": "COD145", "picture_against_flat": "", "plain_list_of_layers": "COD118",
    "probabilities_as_logs": "COD206", "probabilities_into_nll": "COD203", "projector_not_trained": "COD141",
    "r2_for_a_min_plateau": "COD131", "rate_set_on_object": "COD133", "reentrant_checkpoint": "COD408",
    "relu_on_classes": "COD207", "relu_on_logits": "COD207", "scaler_and_no_autocast": "COD150",
    "schedule_per_micro_batch": "COD104", "scheduler_first": "COD103", "seeded_in_each_epoch": "COD136",
    "segmentation_ends_in_relu": "COD207", "siamese_mean_of_means": "COD309", "sigmoid_then_logits_loss": "COD202",
    "softmax_in_forward": "COD201", "state_cleared_each_step": "COD134", "step_after_the_loop": "COD115",
    "stepped_twice": "COD149", "student_zeroed_wrongly": "COD143", "targets_broadcast_by_hand": "",
    "two_loaders_zipped": "COD308", "validation_augmented": "COD310", "validation_from_training": "",
    "validation_mean_of_means": "COD309", "weights_reset_each_epoch": "COD152",
}  # fmt: skip
RANKS = {
    "clip_on_first_rank": "COD507", "inner_model_called": "COD503", "no_ddp_at_all": "COD508", "no_sampler": "COD501",
    "no_set_epoch": "COD502", "rank_of_sampler_fixed": "COD506",
}  # fmt: skip
# Habits, and what is right more often than not: named as advice.
AS_ADVICE = ("COD309", "COD406", "COD412")
LEAST_RECALL = 0.9


def findings(path):
    source = read_source(parse_module(path.read_text(encoding="utf-8"), path.stem, path.name))
    return [one for rule in RULES for one in rule.check(source)]


def judged(path, code):
    """The codes of alarms, and of the advice that was asked for."""
    return {one.code for one in findings(path) if one.severity != "advice" or one.code == code in AS_ADVICE}


@pytest.mark.parametrize("name", [name for name, code in FAULTS.items() if code])
def test_a_fault_is_named_by_its_cause_alone(name, shared_data):
    assert judged(shared_data / "faults" / "bad" / f"{name}.py", FAULTS[name]) == {FAULTS[name]}


@pytest.mark.parametrize("name", [name for name, code in SICK.items() if code])
def test_a_sick_script_of_the_corpus_is_named_by_its_cause_alone(name):
    assert judged(CORPUS / "sick" / f"{name}.py", SICK[name]) == {SICK[name]}


@pytest.mark.parametrize("name", RANKS)
def test_a_fault_of_several_processes_is_named_by_its_cause_alone(name):
    assert judged(CORPUS / "ranks" / f"{name}.py", RANKS[name]) == {RANKS[name]}


def test_nine_of_ten_faults_that_can_be_seen_are_named():
    wanted = [*FAULTS.values(), *SICK.values(), *RANKS.values()]
    assert sum(map(bool, wanted)) / len(wanted) >= LEAST_RECALL


RIGHT = [*sorted((CORPUS / "mended").glob("*.py")), *sorted((CORPUS / "healthy").glob("*.py")),
         CORPUS / "ranks" / "ddp_digits.py", CORPUS / "ranks" / "averaged_by_hand.py",
         *sorted((REPOSITORY / "examples").rglob("*.py"))]  # fmt: skip


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_right_script_draws_no_alarm(path):
    found = findings(path)
    assert [one for one in found if one.severity != "advice"] == []
    assert len(found) <= 2


def test_right_scripts_that_look_like_faults_draw_no_alarm(shared_data):
    paths = sorted((shared_data / "faults" / "healthy").glob("*.py"))
    assert len(paths) > 20
    assert {path.stem: [one.code for one in findings(path) if one.severity != "advice"] for path in paths} == {
        path.stem: [] for path in paths}
