"""What is said of a run whose files are missing or damaged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.recipe_file import recipe_for
from torchstone.core.run import Run
from torchstone.flows.run_files import give_back, read_document, read_plan
from torchstone.flows.run_lock import locked
from torchstone.flows.train import resume, train

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
    for path in (run.plan, run.folder / "encoding.json", run.trace, run.folder / "lock", run.findings):
        path.touch()
    give_back(run)
    assert not run.folder.exists()


def test_what_others_put_into_the_folder_stays(tmp_path: Path) -> None:
    run = Run(tmp_path / "r1")
    run.folder.mkdir()
    for path in (run.plan, run.folder / "notes.txt"):
        path.touch()
    give_back(run)
    assert [path.name for path in run.folder.iterdir()] == ["notes.txt"]


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


def refused(folder: Path, *changes: str, name: str | None = None) -> None:
    """A run on points that is refused when its model is built: the weights are no safetensors file."""
    rows = "".join(f"{i},{i * 7 % 5},{'yn'[i % 2]}\n" for i in range(60))
    (folder / "points.csv").write_text(f"a,b,label\n{rows}", encoding="utf-8")
    (folder / "bad.safetensors").write_bytes(b"no weights")
    recipe = recipe_for(str(folder / "points.csv"), overrides=["train.epochs=1", *changes])
    with pytest.raises(StoneError):
        train(recipe, project=folder, run_name=name)


@pytest.mark.parametrize("name", [None, "mine"])
@pytest.mark.parametrize("change", ["model.weights={folder}/bad.safetensors", "train.freeze=[nothing]"])
def test_a_refused_run_leaves_no_folder(name: str | None, change: str, tmp_path: Path) -> None:
    refused(tmp_path, change.format(folder=tmp_path), name=name)
    assert list((tmp_path / ".torchstone" / "runs").glob("*")) == []


def test_an_interrupt_before_the_first_event_leaves_no_folder_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torchstone.engines.pytorch import drive

    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(drive, "assemble", interrupted)
    rows = "".join(f"{i},{i * 7 % 5},{'yn'[i % 2]}\n" for i in range(60))
    (tmp_path / "points.csv").write_text(f"a,b,label\n{rows}", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        train(recipe_for(str(tmp_path / "points.csv")), project=tmp_path)
    assert list((tmp_path / ".torchstone" / "runs").glob("*")) == []


def test_a_resume_that_is_refused_leaves_the_run_as_it_is(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i * 7 % 5},{'yn'[i % 2]}\n" for i in range(60))
    (tmp_path / "points.csv").write_text(f"a,b,label\n{rows}", encoding="utf-8")
    train(recipe_for(str(tmp_path / "points.csv"), overrides=["train.epochs=1"]), project=tmp_path, run_name="r")
    folder = tmp_path / ".torchstone" / "runs" / "r"
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(StoneError):
        resume("r", project=tmp_path, overrides=["optimizer.lr=0.5"])
    assert sorted(path.name for path in folder.iterdir()) == before


def test_who_waits_for_a_lock_whose_folder_is_removed_meanwhile_locks_the_new_one(tmp_path: Path) -> None:
    run = Run(tmp_path / "r1")
    with locked(run, True):
        (run.folder / "lock").unlink()
        run.folder.rmdir()
        with locked(run, True):
            assert (run.folder / "lock").read_text() == str(os.getpid())
