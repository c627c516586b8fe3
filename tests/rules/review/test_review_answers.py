"""Each of the twenty questions: a run where the answer is no, its twin where it is yes, and where it does not arise."""

from __future__ import annotations

from importlib import import_module

import pytest

from torchstone.core.catalog import names
from torchstone.rules._watched import toy_data, toy_loop, toy_loss, toy_model, toy_optimizer, toy_pass, toy_schedule
from torchstone.rules.review._toy import LOOP, TRAIN, examples, finding, run, trace, watched

ROOM = "torchstone.rules.review"
VIT = {"model.name": "vit"}


def answer(name, reviewed, **options):
    return getattr(import_module(f"{ROOM}.{name}"), name)(reviewed, **options)


def steps(**different):
    return watched(toy_loop(change=lambda number, row: different))


def beside(*rows):
    return watched(toy_loop(more=rows))


def of_ranks(*digests, shared=0, sampler="shuffled", distinct=64):
    ranks = [{"examples": 64, "distinct": distinct, "digest": digest} for digest in digests]
    row = examples(ranks=ranks, shared=shared)
    rows = [row if one["event"] == "examples" else one for one in trace(start={"world": len(digests)})]
    return run({"sampler.name": sampler}, trace=rows)


def with_idle_ranks():
    """Batches of one example: the first rank has it, and the two others have nothing in common but that."""
    nothing = {"examples": 0, "distinct": 0, "digest": "0" * 64}
    row = examples(ranks=[{"examples": 128, "distinct": 128, "digest": TRAIN}, nothing, nothing])
    return run(trace=[row if one["event"] == "examples" else one for one in trace(start={"world": 3})])


def told(*windows, world=1):
    """Eight steps, of which the rows about examples tell these windows."""
    ranks = [{"examples": 64, "distinct": 64, "digest": str(rank) * 64} for rank in range(world)]
    rows = [examples(windows=list(pair), ranks=ranks) for pair in windows]
    made = trace(start={"world": world})
    place = next(n for n, row in enumerate(made) if row["event"] == "examples")
    return run(trace=[*made[:place], *rows, *made[place + 1:]])


def dealt(**by_split):
    row = examples(by_split={"train": 128, "validation": 0, "test": 0, **by_split}, digest="9" * 64)
    return run(trace=[row if one["event"] == "examples" else one for one in trace()])


def agreed(value):
    return run(agreement={"coefficients": {"krippendorff_alpha": {"value": value, "low": 0.6, "high": 0.9}}})


def data(shared):
    return beside(toy_pass(loader=0, backwards=14), toy_data(),
                  toy_data(loader=1, num=96, num_distinct=96, overlap={"0": shared}))


def noted(text):
    return run(trace=trace({"event": "note", "step": 0, "text": text}), asked={"RUN703": "the first batch"})


ADAM = toy_optimizer(kind="Adam")
DECOUPLED = toy_optimizer(kind="RAdam", groups=[{"weight_decay": 0.01, "decoupled_weight_decay": True}])
BERT = toy_model(**{"class": "BertModel"})
FP16 = {"train.precision": "fp16"}
OVER = [{**row, "clipped_norm": 65536.0} if row["event"] == "step" else row for row in trace()]
CPU = {"has_accelerator": False, "accelerator": None, "has_bf16": True}
MICRO = {"accumulated": 4, "backwards": 4, "forwards": 4, "batches": 4}
SKEWED = {"findings": [finding("DAT206")]}
KEPT = {"name": "best", "step": 8, "files": {"model.safetensors": "1" * 64}, "wrong": []}
RANK = {"loader": 0, "backwards": 3, "world": 2, "order": "DistributedSampler"}

NO = [
    ("modes_of_the_model", beside(toy_pass(forwards_in_training=3))),
    ("modes_of_the_model", watched(toy_loop(change=lambda number, row: {"training": number < 20}))),
    ("gradients_cleared", steps(is_cleared=False)),
    ("validation_without_graph", beside(toy_pass(forwards_with_grad=3))),
    ("scheduler_after_optimizer", beside(toy_schedule(pending=40))),
    ("clip_after_unscale", steps(is_scaled=True, clip=1.0, is_clipped_scaled=True)),
    ("clip_after_unscale", run(FP16, trace=OVER)),
    ("loss_per_window", steps(**MICRO, kinds=["NllLossBackward0"] * 4)),
    ("bf16_where_possible", run(FP16)),
    ("adamw_for_transformers", run({**VIT, "optimizer.name": "adam", "optimizer.options.weight_decay": 0.01})),
    ("adamw_for_transformers", watched([BERT, ADAM, *toy_loop()[2:]])),
    ("adamw_for_transformers", watched([BERT, toy_optimizer(kind="NAdam"), *toy_loop()[2:]])),
    ("adamw_for_transformers", run({**VIT, "optimizer.name": "sam", "optimizer.options.base": "adam",
                                    "optimizer.options.weight_decay": 0.01})),
    ("agreement_reached", agreed(0.74)),
    ("imbalance_addressed", run(**SKEWED)),
    ("validation_held_out", dealt(validation=3)),
    ("validation_held_out", dealt(test=1)),
    ("validation_held_out", run(findings=[finding("DAT202")])),
    ("validation_held_out", run(data={"counts": {"train": 128, "validation": 0}})),
    ("validation_held_out", data(96)),
    ("best_checkpoint_kept", run(checkpoint={})),
    ("best_checkpoint_kept", run(checkpoint={**KEPT, "wrong": ["model.safetensors"]})),
    ("best_checkpoint_kept", run(checkpoint={**KEPT, "step": 4})),
    ("lineage_complete", run(papers={**run().papers, "plan.yaml": "9" * 64})),
    ("lineage_complete", run(papers={k: v for k, v in run().papers.items() if k != "environment.json"})),
    ("lineage_complete", run(environment={"packages": {}, "command": ["torchstone"]})),
    ("lineage_complete", run(checkpoint={**KEPT, "wrong": ["model.safetensors"]})),
    ("first_loss_as_foretold", run(findings=[finding("RUN703")])),
    ("ranks_share_the_data", of_ranks(TRAIN, TRAIN, shared=128)),
    ("ranks_share_the_data", of_ranks("1" * 64, "2" * 64, shared=4)),
    ("ranks_share_the_data", of_ranks(TRAIN, TRAIN, shared=128, sampler="class_balanced")),
    ("ranks_share_the_data", beside(toy_pass(**RANK, sampler_size=96))),
    ("recompute_considered", run(findings=[finding("PLN121")])),
    ("anomaly_detection_off", run(trace=trace(start={"is_anomaly_on": True}))),
    ("anomaly_detection_off", watched([*toy_loop()[:-1], {"event": "end", "step": 40, "is_anomaly_on": True}])),
    ("loss_fits_the_task", run(findings=[finding("PLN101")])),
    ("warmup_for_transformers", run(VIT, trace=[{**row, "lr": 1e-3} if "lr" in row else row for row in trace()])),
    ("warmup_for_transformers", watched([BERT, *toy_loop()[1:]])),
    ("logged_before_start", run(trace=trace(start={"papers": {"plan.yaml": "d" * 64}}))),
]
YES = [
    ("modes_of_the_model", run()),
    ("modes_of_the_model", beside(toy_pass())),
    ("gradients_cleared", run()),
    ("gradients_cleared", steps()),
    ("validation_without_graph", run()),
    ("validation_without_graph", beside(toy_pass())),
    ("scheduler_after_optimizer", run()),
    ("scheduler_after_optimizer", beside(toy_schedule())),
    ("clip_after_unscale", run(FP16)),
    ("clip_after_unscale", steps(is_scaled=True, clip=1.0, is_clipped_scaled=False)),
    ("loss_per_window", run({"train.accumulate": 4})),
    ("loss_per_window", steps(**MICRO, kinds=["DivBackward0"] * 4)),
    ("bf16_where_possible", run({"train.precision": "bf16"})),
    ("bf16_where_possible", run()),
    ("bf16_where_possible", steps(autocast="bfloat16")),
    ("adamw_for_transformers", run(VIT)),
    ("adamw_for_transformers", steps()),
    ("adamw_for_transformers", watched([BERT, DECOUPLED, *toy_loop()[2:]])),
    ("agreement_reached", agreed(0.83)),
    ("imbalance_addressed", run({"sampler.name": "class_balanced"}, **SKEWED)),
    ("imbalance_addressed", run({"loss.options.class_weights": [1.0, 9.0]}, **SKEWED)),
    ("imbalance_addressed", beside(toy_loss(weighted=True))),
    ("validation_held_out", run()),
    ("validation_held_out", dealt()),
    ("validation_held_out", data(0)),
    ("best_checkpoint_kept", run()),
    ("lineage_complete", run()),
    ("first_loss_as_foretold", noted("first loss 0.7, log 2 = 0.693: as expected")),
    ("first_loss_as_foretold", beside(toy_loss())),
    ("ranks_share_the_data", of_ranks("1" * 64, "2" * 64)),
    ("ranks_share_the_data", of_ranks("1" * 64, "2" * 64, distinct=50, sampler="class_balanced")),
    ("ranks_share_the_data", with_idle_ranks()),
    ("ranks_share_the_data", of_ranks("1" * 64, "2" * 64, shared=4, sampler="class_balanced")),
    ("ranks_share_the_data", beside(toy_pass(**RANK, sampler_size=48))),
    ("recompute_considered", run({"train.recompute": True})),
    ("recompute_considered", run({"train.accumulate": 4})),
    ("anomaly_detection_off", run()),
    ("loss_fits_the_task", run(asked={"PLN101": "the plan"})),
    ("loss_fits_the_task", watched(toy_loop(more=[toy_loss()]), asked={"RUN401": "the rows"})),
    ("warmup_for_transformers", run(VIT)),
    ("warmup_for_transformers", watched(toy_loop(change=lambda number, row: {"lr": min(number, 9) * 1e-4}))),
    ("logged_before_start", run()),
    ("logged_before_start", run(trace=[{k: v for k, v in trace()[0].items() if k != "papers"}, *trace()[1:]])),
]
IDLE = [
    ("modes_of_the_model", steps(has_modes=False)),
    ("scheduler_after_optimizer", steps()),
    ("scheduler_after_optimizer", run(trace=[{**r, "lr": 1e-3} if "lr" in r else r for r in trace()])),
    ("clip_after_unscale", run()),
    ("clip_after_unscale", run({**FP16, "train.clip_norm": 0.0})),
    ("clip_after_unscale", steps()),
    ("loss_per_window", run()),
    ("loss_per_window", steps()),
    ("bf16_where_possible", run(environment=CPU)),
    ("bf16_where_possible", run(FP16, environment={**CPU, "has_accelerator": True, "has_bf16": False})),
    ("adamw_for_transformers", run()),
    ("imbalance_addressed", run(asked={"DAT206": "the dataset"})),
    ("imbalance_addressed", run(data={"task": "tabular-regression", "classes": []})),
    ("best_checkpoint_kept", run(data={"counts": {"train": 128, "validation": 0}})),
    ("first_loss_as_foretold", noted("first loss 0.7, from given weights: not foretold")),
    ("ranks_share_the_data", run()),
    ("ranks_share_the_data", beside(toy_pass(loader=0, backwards=3))),
    ("recompute_considered", run()),
    ("warmup_for_transformers", run()),
]
OPEN = [
    ("anomaly_detection_off", watched([*toy_loop()[:-1], {"event": "end", "step": 40, "is_anomaly_on": False}])),
    ("validation_held_out", told([0, 3])),
    ("validation_held_out", told([4, 7])),
    ("validation_held_out", told([0, 7], [2, 9])),
    ("ranks_share_the_data", told([0, 3], world=2)),
    ("ranks_share_the_data", of_ranks(TRAIN, TRAIN, shared=50, sampler="class_balanced", distinct=50)),
    ("modes_of_the_model", run(loop="f" * 64)),
    ("modes_of_the_model", run(trace=[])),
    ("gradients_cleared", run(trace=trace(start={"loop": None}))),
    ("validation_without_graph", steps()),
    ("scheduler_after_optimizer", watched(toy_loop(change=lambda number, row: {"lr": 0.1 / number}))),
    ("loss_per_window", steps(**MICRO, kinds=["AddBackward0"] * 4)),
    ("bf16_where_possible", run(origin="user")),
    ("bf16_where_possible", steps(autocast="float16")),
    ("adamw_for_transformers", watched([toy_model(), ADAM, *toy_loop()[2:]])),
    ("agreement_reached", run()),
    ("agreement_reached", agreed(None)),
    ("imbalance_addressed", run()),
    ("imbalance_addressed", run({"metric": "macro_f1"}, **SKEWED)),
    ("validation_held_out", run(trace=[row for row in trace() if row["event"] != "examples"])),
    ("validation_held_out", run(trace=[*trace(), {"event": "step", "step": 9}])),
    ("validation_held_out", data(1)),
    ("best_checkpoint_kept", run(trace=trace()[:-1])),
    ("best_checkpoint_kept", steps()),
    ("lineage_complete", run(trace=trace(start={"papers": None}))),
    ("lineage_complete", run(trace=[*trace(start={"papers": None}), trace()[0]])),
    ("lineage_complete", steps()),
    ("first_loss_as_foretold", run()),
    ("first_loss_as_foretold", beside(toy_loss(value=2.9))),
    ("ranks_share_the_data", run(trace=[r for r in trace(start={"world": 2}) if r["event"] != "examples"])),
    ("recompute_considered", run({"train.accumulate": 4}, origin="user")),
    ("anomaly_detection_off", run(trace=trace(start={"is_anomaly_on": None}))),
    ("loss_fits_the_task", run()),
    ("warmup_for_transformers", steps()),
    ("logged_before_start", run(trace=trace()[:1])),
    ("logged_before_start", steps()),
]
CASES = [(name, case, verdict) for cases, verdict in
         ((NO, "fail"), (YES, "pass"), (IDLE, "not applicable"), (OPEN, "needs a person")) for name, case in cases]


NAMED = [f"{verdict}-{name}-{number}" for number, (name, _, verdict) in enumerate(CASES)]


@pytest.mark.parametrize(("name", "reviewed", "verdict"), CASES, ids=NAMED)
def test_a_question_is_answered_by_what_the_files_hold(name, reviewed, verdict):
    said = answer(name, reviewed)
    assert said.verdict == verdict, said.because
    assert said.because
    if verdict == "pass" and name not in ("agreement_reached",):
        assert said.proofs


@pytest.mark.parametrize("name", names(ROOM))
def test_each_question_has_a_no_a_yes_and_a_run_that_nobody_can_judge_without_more(name):
    assert name in {one for one, _ in NO}
    assert name in {one for one, _ in YES}
    assert name in {one for one, _ in [*OPEN, *IDLE]}


@pytest.mark.parametrize("name", names(ROOM))
def test_nothing_passes_where_nothing_was_seen(name):
    """An empty run, a loop without rows, and code that was only read: silence is no answer."""
    for kind in ("watched", "code"):
        assert answer(name, watched([], kind=kind)).verdict == "needs a person"
    empty = run(trace=[], checkpoint={}, environment={}, data={}, papers={}, written={}, asked={})
    assert answer(name, empty).verdict != "pass"


def test_the_thresholds_of_agreement_are_the_project_s_own():
    assert answer("agreement_reached", agreed(0.74), purpose="train").verdict == "pass"
    assert answer("agreement_reached", agreed(0.83), production=0.9).verdict == "fail"
    assert "enough to train" in answer("agreement_reached", agreed(0.74)).because


def test_a_proof_points_to_the_line_of_the_plan_and_to_the_row_of_the_ledger():
    proof = answer("bf16_where_possible", run(FP16)).proofs[0]
    assert (proof.where.path, proof.where.field) == ("runs/r1/plan.yaml", "train.precision")
    assert proof.where.line == run().lines["train.precision"]
    proof = answer("validation_held_out", dealt(validation=3)).proofs[0]
    assert proof.where.path == "runs/r1/trace.jsonl"
    assert dealt(validation=3).trace[proof.where.line - 1]["event"] == "examples"


def test_the_loop_s_own_lines_are_pointed_to():
    proof = answer("gradients_cleared", run(loop=LOOP)).proofs[0]
    assert proof.where.path.endswith("step.py")
    assert proof.where.line is not None
