"""What is said of a run whose files are missing or damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.recipe_file import recipe_for
from torchstone.core.run import Run
from torchstone.flows.run_files import give_back, read_document, read_plan
from torchstone.flows.train import train

BAD = [None, b"", b"{", b"[1]", b"{}", b"\xff\xfe\x00", b"{'a': 1}", b"null", b'{"other": 1}']


@pytest.mark.parametrize("content", BAD)
def test_a_document_that_is_missing_or_damaged_is_named_with_a_mend(tmp_path: Path, content: bytes | None) -> None:
    run = Run(tmp_path / "r1")
    run.folder.mkdir()
    if content is not None:
        run.data.write_bytes(content)
    with pytest.raises(StoneError, match=r"run r1 is damaged: data\.json cannot be read") as caught:
        read_document(run, run.data, "digest")
    assert str(run.data) in str(caught.value)
    assert "start a new run" in str(caught.value)


@pytest.mark.parametrize("content", [*BAD, b"choices: [1, 2]", b"choices: {a", b"choices:\n- field: a\n"])
def test_so_is_a_plan(tmp_path: Path, content: bytes | None) -> None:
    run = Run(tmp_path / "r1")
    run.folder.mkdir()
    if content is not None:
        run.plan.write_bytes(content)
    with pytest.raises(StoneError, match=r"run r1 is damaged: plan\.yaml cannot be read"):
        read_plan(run)


def test_a_whole_document_is_read_as_it_is(tmp_path: Path) -> None:
    run = Run(tmp_path / "r1")
    run.folder.mkdir()
    run.data.write_text('{"digest": "ab", "more": [1]}', encoding="utf-8")
    assert read_document(run, run.data, "digest") == {"digest": "ab", "more": [1]}


def test_a_run_that_never_began_gives_its_name_back(tmp_path: Path) -> None:
    run = Run(tmp_path / "r1")
    run.folder.mkdir()
    for path in (run.plan, run.folder / "encoding.json", run.trace):
        path.touch()
    give_back(run)
    assert sorted(path.name for path in run.folder.iterdir()) == ["trace.jsonl"]


@pytest.mark.parametrize("sign", ["an event", "a checkpoint"])
def test_a_run_that_began_keeps_everything(sign: str, tmp_path: Path) -> None:
    run = Run(tmp_path / "r1")
    run.folder.mkdir()
    run.plan.touch()
    if sign == "an event":
        run.trace.write_text("{}\n", encoding="utf-8")
    else:
        run.checkpoints.mkdir()
    give_back(run)
    assert run.plan.is_file()


def test_a_mistake_that_only_the_model_shows_does_not_hold_the_name(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i * 7 % 5},{'yn'[i % 2]}\n" for i in range(60))
    (tmp_path / "points.csv").write_text(f"a,b,label\n{rows}", encoding="utf-8")
    data = str(tmp_path / "points.csv")
    with pytest.raises(StoneError, match="matches no parameter"):
        train(recipe_for(data, overrides=["train.freeze=[nothing]"]), project=tmp_path, run_name="r")
    assert train(recipe_for(data, overrides=["train.epochs=1"]), project=tmp_path, run_name="r").status == "finished"
