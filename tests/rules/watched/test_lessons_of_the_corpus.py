"""What whole scripts have taught the rules of watched loops, as rows: the sick kind, and its near-misses."""

from __future__ import annotations

import pytest

from torchstone.rules._watched import toy_input, toy_loop, toy_loss, toy_optimizer, toy_pass, toy_schedule
from torchstone.rules.feeding import input_shift
from torchstone.rules.meaning import broadcast_loss, end_never_scored, sees_the_future
from torchstone.rules.protocol import (
    accumulation_not_divided,
    graph_kept,
    optimizer_rebuilt,
    parameters_not_in_optimizer,
    plateau_of_wrong_mode,
    rate_of_the_checkpoint,
    rate_vanished,
    schedule_underrun,
    stale_gradients,
    validation_in_train_mode,
    weights_reset,
)


def found(module, rows):
    return [finding.code for finding in module.RULE.check(rows)]


def micro(**different):
    return {"accumulated": 4, "backwards": 4, "batches": 0, "forwards": 4, "backward_lines": 1,
            "kinds": ["NllLossBackward0"] * 4, **different}  # fmt: skip


@pytest.mark.parametrize(
    ("step", "codes"),
    [
        (micro(), ["RUN320"]),
        (micro(backward_lines=2), []),  # real and fake examples of a GAN: two lines call backward
        (micro(batches=10, forwards=10), ["RUN320"]),  # an evaluation of 6 batches lies between two steps
        (micro(batches=10, forwards=4), ["RUN320"]),  # or one by an averaged copy, which is not followed
        (micro(batches=1, forwards=4), []),  # four tasks of one batch
        (micro(kinds=["DivBackward0"] * 4), []),
        (micro(kinds=["Mean of cross_entropy"] * 4), ["RUN320"]),  # label smoothing hides the mean behind a sum
    ],
)
def test_accumulation_is_known_without_a_loader_and_with_evaluation_between(step, codes):
    assert found(accumulation_not_divided, toy_loop(change=lambda number, row: step)) == codes


def test_every_second_step_without_a_backward_pass_is_stale_and_one_per_epoch_is_not():
    def stale_every(num):
        return toy_loop(change=lambda n, row: {"is_stale": n % num == 0, "accumulated": int(n % num > 0)})

    assert found(stale_gradients, stale_every(2)) == ["RUN305"]
    assert found(stale_gradients, stale_every(14)) == []


def test_outputs_that_are_kept_are_graphs_too():
    assert found(graph_kept, toy_loop(change=lambda n, row: {"outputs_alive": max(0, n - 5)})) == ["RUN325"]
    assert found(graph_kept, toy_loop(change=lambda n, row: {"outputs_alive": 2})) == []


def stretch(**different):
    return {"event": "stretch", "step": 5, "root": 0, "forwards": 10, "in_training": 10, "losses": 10,
            "place": "train.py:41", **different}  # fmt: skip


def test_validation_in_train_mode_is_seen_without_a_loader_where_losses_are_computed():
    assert found(validation_in_train_mode, toy_loop(more=[stretch(), stretch(step=25)])) == ["RUN322"]
    assert found(validation_in_train_mode, toy_loop(more=[stretch()])) == []
    assert found(validation_in_train_mode, toy_loop(more=[stretch(losses=0), stretch(losses=0, step=25)])) == []
    assert found(validation_in_train_mode, toy_loop(more=[stretch(in_training=0), stretch(in_training=0)])) == []


def test_accuracy_in_train_mode_needs_two_passes_and_fresh_statistics_need_none():
    passes = [toy_pass(forwards_in_training=3, losses=0, first_step=n, number=i) for i, n in enumerate((14, 28), 1)]
    assert found(validation_in_train_mode, toy_loop(more=passes)) == ["RUN322"]
    assert found(validation_in_train_mode, toy_loop(more=passes[:1])) == []
    trained = toy_pass(loader=1, backwards=14)
    assert found(validation_in_train_mode, toy_loop(more=[trained, *passes])) == []  # update_bn of weight averaging


@pytest.mark.parametrize(
    ("shape", "output", "codes"),
    [([32, 32], [32, 1], ["RUN404"]), ([32, 32], [32], ["RUN404"]), ([32, 1], [32, 1], []), ([32, 32], [32, 32], []),
     ([1, 1], [1, 1], [])],
)  # fmt: skip
def test_a_mean_written_by_hand_over_all_pairs_is_a_broadcast(shape, output, codes):
    row = {"event": "hand_loss", "step": 0, "shape": shape, "output_shape": output, "place": "train.py:15"}
    assert found(broadcast_loss, toy_loop(more=[row])) == codes


@pytest.mark.parametrize(
    ("mode", "names", "codes"),
    [("min", ["val_acc"], ["RUN333"]), ("min", ["r2"], ["RUN333"]), ("max", ["valid_loss"], ["RUN333"]),
     ("min", ["val_loss"], []), ("max", ["mIoU"], []), ("min", [], []), ("min", ["metric"], []),
     ("min", ["accumulated_loss"], []), ("min", ["score", "val_loss"], [])],
)  # fmt: skip
def test_the_name_of_a_metric_says_its_direction(mode, names, codes):
    row = toy_schedule(kind="ReduceLROnPlateau", mode=mode, metrics=[0.5, 0.6], metric_names=names)
    assert found(plateau_of_wrong_mode, toy_loop(more=[row])) == codes


def test_a_one_cycle_schedule_of_epochs_is_right():
    sick = toy_schedule(kind="OneCycleLR", total_steps=40, steps=4)
    epochs = toy_schedule(kind="OneCycleLR", total_steps=4, steps=4)
    stopped = toy_schedule(kind="OneCycleLR", total_steps=100, steps=40)
    assert [found(schedule_underrun, toy_loop(more=[row])) for row in (sick, epochs, stopped)] == [["RUN331"], [], []]


def test_a_cosine_that_ends_near_zero_has_not_vanished():
    gone = toy_schedule(peak=0.01, rate=1e-9, low_steps=25)
    cosine = toy_schedule(peak=0.01, rate=1e-7, low_steps=1)
    assert found(rate_vanished, toy_loop(more=[gone])) == ["RUN343"]
    assert found(rate_vanished, toy_loop(more=[cosine])) == []


def test_a_rate_that_is_set_again_after_loading_is_the_users():
    row = {"event": "optimizer_loaded", "step": 0, "optimizer": 0, "own_step": 0, "before": [1e-3], "after": [0.1],
           "place": "train.py:12"}  # fmt: skip
    assert found(rate_of_the_checkpoint, [row, *toy_loop(change=lambda n, step: {"lr": 0.1})]) == ["RUN347"]
    assert found(rate_of_the_checkpoint, [row, *toy_loop(change=lambda n, step: {"lr": 1e-3})]) == []
    resumed = [row, {"event": "schedule_loaded", "step": 0}, *toy_loop(change=lambda n, step: {"lr": 0.1})]
    assert found(rate_of_the_checkpoint, resumed) == []


def test_folds_that_reset_weights_and_build_a_new_optimizer_are_right():
    reset = {"event": "reset", "step": 40, "optimizer": 0, "own_step": 40, "num": 4, "weights": 1000, "of": 1000,
             "place": "train.py:33"}  # fmt: skip
    assert found(weights_reset, toy_loop(40, more=[reset])) == []
    assert found(weights_reset, toy_loop(60, more=[reset])) == ["RUN340"]
    rebuilt = optimizer_rebuilt.RULE.trips()
    assert found(optimizer_rebuilt, rebuilt) == ["RUN312"]
    assert found(optimizer_rebuilt, [*rebuilt, reset]) == []


def test_a_model_in_no_optimizer_is_a_warning_after_three_looks():
    def stranger(looks):
        row = {"event": "stranger", "step": 10, "looks": looks, "num": 6, "weights": 500, "class": "Sequential"}
        return toy_loop(more=[row, toy_optimizer()])

    assert found(parameters_not_in_optimizer, stranger(3)) == ["RUN307"]
    assert found(parameters_not_in_optimizer, stranger(1)) == []


def test_raw_pixels_beside_normalised_ones_are_a_shift_and_two_raw_sides_are_not():
    raw = {"low": 0.0, "high": 1.0, "mean": 0.305, "std": 0.376}
    normal = [toy_input(low=-0.8, high=1.8, mean=0.0, std=1.0)] * 3
    evaluated = {"has_grad": False, "training": False, "step": 14}
    assert found(input_shift, toy_loop(more=[*normal, *[toy_input(**{**raw, **evaluated})] * 3])) == ["RUN503"]
    assert found(input_shift, toy_loop(more=[*[toy_input(**raw)] * 3, *[toy_input(**{**raw, **evaluated})] * 3])) == []


def test_sequences_that_end_in_one_token_have_an_end():
    def ends(different):
        return toy_loop(more=[toy_loss(last_scored={"rows": 50, "of": 50, "different": different})] * 3)

    assert found(end_never_scored, ends(17)) == ["RUN417"]
    assert found(end_never_scored, ends(1)) == []


def test_a_token_that_did_not_change_proves_nothing():
    row = {"event": "looked_ahead", "step": 20, "root": 0, "middle": 16, "is_changed": False, "difference": 0.4}
    assert found(sees_the_future, toy_loop(more=[row])) == []
