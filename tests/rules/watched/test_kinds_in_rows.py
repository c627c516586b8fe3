"""Newer kinds of faults as rows: each sick one, and what looks like it and is right."""

from __future__ import annotations

import pytest

from torchstone.rules._watched import toy_loop, toy_loss, toy_optimizer, toy_pass, toy_schedule
from torchstone.rules.feeding import evaluation_drawn_again, labels_shuffled_apart, same_order_each_epoch
from torchstone.rules.health import diverging, not_falling, update_too_small
from torchstone.rules.meaning import (
    accuracy_miscounted,
    mean_of_means,
    padding_scored,
    relu_before_loss,
    target_unreachable,
)
from torchstone.rules.protocol import (
    lambda_gives_rate,
    ranks_diverged,
    scaler_without_autocast,
    step_count_stuck,
    updates_rounded_away,
    validation_in_train_mode,
)

TRAINED = toy_pass(loader=0, backwards=14, order="random")


def found(module, rows):
    return [finding.code for finding in module.RULE.check(rows)]


def growing(factor, more=()):
    return toy_loop(40, change=lambda n, row: {"loss": 0.5 * factor**n}, more=[*more])


def test_a_loss_of_classes_that_grows_beyond_guessing_diverges_and_values_learnt_from_rewards_do_not():
    assert found(diverging, growing(1.2, [toy_loss()])) == ["RUN609"]
    assert found(diverging, growing(1.05, [toy_loss()])) == []  # 3.5 is less than three guesses among four classes
    values = toy_loss(function="smooth_l1_loss", entropy=None, target_low=0.0, target_high=1.0)
    assert found(diverging, growing(1.2, [values])) == []  # no loader: a replay memory, targets grow with the model
    assert found(diverging, growing(1.2, [values, TRAINED])) == ["RUN609"]


def test_a_regression_diverges_only_beyond_what_any_guess_costs():
    def squares(span):
        return toy_loss(function="mse_loss", entropy=None, target_low=0.0, target_high=span)

    assert found(diverging, growing(1.2, [squares(1.0), TRAINED])) == ["RUN609"]
    assert found(diverging, growing(1.2, [squares(100.0), TRAINED])) == []


def test_two_optimizers_against_each_other_do_not_diverge():
    rival = [{**row, "optimizer": 1} for row in growing(1.2) if row["event"] == "step"]
    assert found(diverging, [*growing(1.2, [toy_loss()]), *rival]) == []


@pytest.mark.parametrize(
    ("means", "severity"), [(0.56, ["warning"]), (0.51, ["advice"]), (0.502, [])], ids=["5 %", "1 %", "less"]
)
def test_a_mean_of_means_is_as_bad_as_it_is_far_off(means, severity):
    passes = [toy_pass(number=n, first_step=14 * n, own_loss=0.5, own_num=96, own_mean_of_means=means, added_up="total")
              for n in (1, 2)]  # fmt: skip
    assert [one.severity for one in mean_of_means.RULE.check(toy_loop(more=passes))] == severity
    assert found(mean_of_means, toy_loop(more=passes[:1])) == []
    assert found(mean_of_means, toy_loop(more=[{**one, "added_up": None} for one in passes])) == []


@pytest.mark.parametrize(
    ("counted", "codes"),
    [({"correct": 900.0}, ["RUN422"]), ({"correct": 40.0}, ["RUN422"]), ({"correct": 80.0}, []), ({}, []),
     ({"correct": 2.7}, []), ({"correct": 3.0}, []), ({"correct": 40.0, "hits": 81.0}, [])],
    ids=["broadcast", "half", "near", "none", "a sum of shares", "no more than batches", "another is right"],
)  # fmt: skip
def test_a_count_of_right_answers_is_compared_with_the_doctors_own(counted, codes):
    passes = [toy_pass(number=n, first_step=14 * n, own_num=96, own_right=81, counted=counted) for n in (1, 2, 3)]
    assert found(accuracy_miscounted, toy_loop(more=passes)) == codes


@pytest.mark.parametrize(
    ("node", "low", "high", "codes"),
    [("Sigmoid", 0.0, 1.05, []), ("Sigmoid", 0.0, 1.2, ["RUN418"]), ("Tanh", -1.0, 1.0, []),
     ("Tanh", -2.0, 0.0, ["RUN418"]), ("Relu", -0.5, 3.0, ["RUN418"]), ("Relu", 0.0, 1e6, []),
     ("Addmm", -9.0, 9.0, [])],
)  # fmt: skip
def test_a_target_beyond_the_last_activation_is_out_of_reach(node, low, high, codes):
    row = toy_loss(function="mse_loss", node=node, target_low=low, target_high=high)
    assert found(target_unreachable, toy_loop(more=[row] * 2)) == codes
    assert found(target_unreachable, toy_loop(more=[row])) == []


def test_a_relu_counts_only_right_before_a_loss_of_logits():
    assert found(relu_before_loss, toy_loop(more=[toy_loss(node="Relu", low=0.0)] * 2)) == ["RUN419"]
    assert found(relu_before_loss, toy_loop(more=[toy_loss(node="Relu", low=0.0, function="mse_loss")] * 2)) == []


def test_padding_that_is_masked_by_hand_or_is_another_token_each_time_is_not_scored():
    tail = {"token": 0, "rows": 28, "of": 32, "share": 0.4}
    assert found(padding_scored, toy_loop(more=[toy_loss(tail=tail)] * 3)) == ["RUN423"]
    assert found(padding_scored, toy_loop(more=[toy_loss(tail=tail, reduction="none")] * 3)) == []
    assert found(padding_scored, toy_loop(more=[toy_loss(tail={**tail, "token": n}) for n in range(3)])) == []


def order(**different):
    return {"event": "order", "step": 14, "loader": 0, "place": None, "num": 32, "again": 3, "same": 3,
            "steps": [14, 28, 42], **different}  # fmt: skip


def test_models_that_are_compared_from_one_seed_see_one_order_and_are_right():
    assert found(same_order_each_epoch, toy_loop(60, more=[TRAINED, order()])) == ["RUN512"]
    others = [toy_optimizer(optimizer=n, step=14 * n) for n in (1, 2)]
    assert found(same_order_each_epoch, toy_loop(60, more=[TRAINED, order(), *others])) == []
    assert found(same_order_each_epoch, toy_loop(60, more=[TRAINED, order(num=1)])) == []  # one input, over and over
    assert found(same_order_each_epoch, toy_loop(60, more=[order()])) == []  # never trained from


@pytest.mark.parametrize(("size", "of", "severity"), [(48, 96, []), (49, 97, ["advice"]), (97, 97, ["advice"])])
def test_shares_of_ranks_are_padded_to_equal_length(size, of, severity):
    row = toy_pass(world=2, order="DistributedSampler", sampler_size=size, of=of)
    assert [one.severity for one in evaluation_drawn_again.RULE.check(toy_loop(more=[row]))] == severity


def test_loaders_side_by_side_with_one_generator_each_may_be_in_step():
    row = {"event": "beside", "step": 2, "inputs": 0, "labels": 1, "place": None, "of": 448,
           "orders": ["random", "random"], "has_generators": [True, True]}  # fmt: skip
    assert found(labels_shuffled_apart, toy_loop(more=[TRAINED, row])) == []
    assert found(labels_shuffled_apart, toy_loop(more=[TRAINED, {**row, "has_generators": [False] * 2}])) == ["RUN515"]


def moved(share, dtype="float32", lr=1e-3):
    return toy_loop(60, change=lambda n, row: {
        "part_moved": share, "part_grad": 0.1, "part_size": 0.05, "part_dtype": dtype, "lr": lr}
        if n % 10 == 1 else {})  # fmt: skip


def test_a_step_that_moves_nothing_is_a_fault_where_the_rate_is_large_enough_to_move_something():
    assert found(updates_rounded_away, moved(0.0)) == ["RUN348"]
    assert found(updates_rounded_away, moved(0.0, lr=1e-9)) == []  # too low a rate is another finding
    assert found(updates_rounded_away, moved(0.0, lr=0.0)) == []  # a warm-up that begins at 0
    assert found(updates_rounded_away, moved(0.01)) == []  # rows of an embedding
    assert found(updates_rounded_away, moved(0.01, "bfloat16")) == ["RUN348"]


def test_a_count_that_grows_more_slowly_than_steps_is_no_fault():
    def counts(count):
        return toy_loop(60, change=lambda n, row: {"state_step": count(n)} if n % 10 == 1 else {})

    assert found(step_count_stuck, counts(lambda n: 1.0)) == ["RUN349"]
    assert found(step_count_stuck, counts(lambda n: n // 2)) == []
    assert found(step_count_stuck, counts(lambda n: n % 25)) == []  # restarts


def test_a_warm_up_that_still_rises_is_no_rate_times_a_rate():
    row = toy_schedule(kind="LambdaLR", rates=[1e-3])
    assert found(lambda_gives_rate, toy_loop(60, change=lambda n, step: {"lr": 1e-6}, more=[row])) == ["RUN351"]
    assert found(lambda_gives_rate, toy_loop(60, change=lambda n, step: {"lr": 1e-7 * n}, more=[row])) == []


def test_a_model_that_enters_autocast_inside_needs_its_scaler():
    rows = toy_loop(change=lambda n, row: {"is_scaled": True})
    assert found(scaler_without_autocast, rows) == ["RUN352"]
    assert found(scaler_without_autocast, [*rows[:-1], {**rows[-1], "num_autocasts": 40}]) == []
    halves = toy_loop(change=lambda n, row: {"is_scaled": True, "part_dtype": "float16"})
    assert found(scaler_without_autocast, halves) == []


@pytest.mark.parametrize(
    ("different", "severity"),
    [({}, ["error"]), ({"wrappers": [], "collectives": 30}, ["warning"]), ({"wrappers": [], "collectives": 2}, []),
     ({"difference": 1e-5}, [])],
    ids=["wrapped", "averaged by hand", "averaged now and then", "rounding"],
)  # fmt: skip
def test_ranks_may_hold_different_weights_where_nothing_says_that_they_hold_one_model(different, severity):
    looks = [ranks_diverged.alike(difference=0.3, at_step=n) | different for n in (8, 16)]
    assert [one.severity for one in ranks_diverged.RULE.check(toy_loop(more=looks))] == severity
    assert found(ranks_diverged, toy_loop(more=[*looks, ranks_diverged.alike(at_step=32)])) == []


def test_an_evaluation_by_a_formula_of_its_own_is_known_by_its_names():
    row = {"event": "stretch", "step": 5, "root": 0, "forwards": 1, "in_training": 1, "losses": 0, "place": "a.py:3"}
    assert found(validation_in_train_mode, toy_loop(more=[{**row, "named": "val"}] * 2)) == ["RUN322"]
    assert found(validation_in_train_mode, toy_loop(more=[{**row, "named": "val"}])) == []
    assert found(validation_in_train_mode, toy_loop(more=[row] * 2)) == []  # a GAN draws samples for a picture


def test_layers_are_evidence_beside_a_finding_and_never_one_alone():
    profile = {"event": "profile", "step": 21, "optimizer": 0, "own_step": 21, "layers": ["a", "b"],
               "grads": [1e-9, 1.0], "weights": [1.0, 1.0]}  # fmt: skip
    edges = {"event": "edges", "step": 21, "layer": "gate", "samples": 4, "share": 0.97}
    assert [found(module, toy_loop(more=[profile, edges])) for module in (not_falling, update_too_small)] == [[], []]
    sick = [*not_falling.RULE.trips(), profile, edges]
    (one,) = not_falling.RULE.check(sick)
    assert "vanish towards the input" in one.what
    assert "97%" in one.what
    assert one.evidence["saturated"] == {"gate": 0.97}
