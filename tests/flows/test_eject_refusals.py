"""What a script cannot have is refused by name, and nothing of a plan is lost in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.plan import Choice, Plan
from torchstone.core.run import Run
from torchstone.flows import eject_parts
from torchstone.flows.eject import check_begun, check_output
from torchstone.flows.eject_script import Script


def script(**values: Any) -> Script:
    """A script for a plan of these fields, `__` for a dot."""
    fields = {name.replace("__", "."): value for name, value in values.items()}
    return Script(Plan({name: Choice(name, value, "given", "given by the user") for name, value in fields.items()}))


@pytest.mark.parametrize("add, field, name", [
    (eject_parts.add_loss, "loss.name", "focal"), (eject_parts.add_optimizer, "optimizer.name", "lion"),
    (eject_parts.add_schedule, "schedule.name", "plateau"), (eject_parts.add_averaging, "averaging.name", "other"),
])  # fmt: skip
def test_a_part_that_it_does_not_know_is_named_with_those_it_knows(add: Any, field: str, name: str) -> None:
    with pytest.raises(StoneError, match="of this piece it knows") as caught:
        add(script(**{field.replace(".", "__"): name}))
    assert f"'{name}'" in str(caught.value)
    assert field in str(caught.value)


def test_a_field_that_was_not_looked_at_is_refused_unless_it_asks_for_nothing() -> None:
    made = script(train__l1=0.1, train__sync_batchnorm=False, train__workers=4, data__path="here")
    with pytest.raises(StoneError, match=r"docs/eject\.md") as caught:
        made.refuse_rest()
    assert "train.l1" in str(caught.value)
    made.take("train.l1")
    made.refuse_rest()


def test_fp16_is_refused_with_its_reason() -> None:
    with pytest.raises(StoneError, match="loss scaler"):
        eject_parts.add_training(script(train__strategy="single", train__precision="fp16", train__batch_size=8), 80)


@pytest.mark.parametrize("suffix", [".py", ".yaml", ".split.csv"])
def test_no_file_is_written_over_without_force(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "plain.py"
    check_output(path, is_forced=False)
    path.with_suffix(suffix).write_text("mine", encoding="utf-8")
    with pytest.raises(StoneError, match="there already"):
        check_output(path, is_forced=False)
    check_output(path, is_forced=True)


def test_a_folder_is_never_replaced_and_a_script_ends_with_py(tmp_path: Path) -> None:
    (tmp_path / "plain.py").mkdir()
    with pytest.raises(StoneError, match="there already"):
        check_output(tmp_path / "plain.py", is_forced=True)
    with pytest.raises(StoneError, match="no name of a script"):
        check_output(tmp_path / "plain.txt", is_forced=True)


def test_a_run_without_a_first_step_has_nothing_to_compare_with(tmp_path: Path) -> None:
    with pytest.raises(StoneError, match="never began"):
        check_begun(Run(tmp_path))
    Run(tmp_path).encoding.write_text("{}", encoding="utf-8")
    check_begun(Run(tmp_path))
