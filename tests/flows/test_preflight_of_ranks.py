"""What several ranks saw of their shares: one verdict, the same on all, with the rank that saw it."""

from __future__ import annotations

from torchstone.core.recipe import Rules
from torchstone.flows.preflight_gate import judge_ranks
from torchstone.rules.preflight._rows import toy_rows


def test_what_only_another_rank_sees_is_told_with_its_rank() -> None:
    found = judge_ranks([toy_rows(), toy_rows("batch", num_bad_inputs=3)], Rules())
    assert [finding.code for finding in found] == ["RUN702"]
    assert found[0].what.startswith("on rank 1: ")


def test_what_all_ranks_see_is_told_once_and_as_rank_0_has_it() -> None:
    wild = toy_rows("first_loss", value=40.0)
    found = judge_ranks([wild, wild, wild], Rules())
    assert [finding.code for finding in found] == ["RUN703"]
    assert "rank" not in found[0].what


def test_errors_of_any_rank_come_first_and_ignored_rules_are_not_asked() -> None:
    ranks = [toy_rows("augmentation", same_in_epochs=1.0), toy_rows("batch", num_bad_inputs=3)]
    severities = [finding.severity for finding in judge_ranks(ranks, Rules())]
    assert severities == sorted(severities, key=["error", "warning", "advice"].index)
    assert len(severities) == 2
    assert judge_ranks(ranks, Rules(ignore=["RUN"])) == []
