"""A look at tables: columns, labels, splits, ids, groups and the digest."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import polars
import pytest
from PIL import Image

from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.recipe import Data, Rules, Shares
from torchstone.flows.look import Look, look


def see(path: Path, task: str | None = None, **fields: object) -> Look:
    return look(Data(path=str(path), **fields), task=task)  # type: ignore[arg-type]


def choice(seen: Look, field: str) -> tuple[object, str, str]:
    found = next(c for c in seen.choices if c.field == field)
    return found.value, found.origin, found.reason


def rows(num: int = 60) -> list[dict[str, object]]:
    return [{"size": i % 7 + 0.5, "kind": "ab"[i % 2], "label": ["01", "1", "NA"][i % 3]} for i in range(num)]


@pytest.fixture(params=["csv", "tsv", "jsonl", "json", "parquet"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    frame, path = polars.DataFrame(rows()), tmp_path / "any.name"
    if request.param in ("csv", "tsv"):
        path.write_text(frame.write_csv(separator="," if request.param == "csv" else "\t"))
    elif request.param == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows())))
    elif request.param == "json":
        path.write_text(json.dumps(rows(), indent=1))
    else:
        frame.write_parquet(path)
    return path


def test_every_format_gives_the_same_dataset_whatever_the_suffix(table: Path) -> None:
    seen = see(table)
    dataset = seen.dataset
    assert dataset.task == "tabular-classification"
    assert dataset.classes == ("01", "1", "NA")
    assert dataset.kinds == {"size": "number", "kind": "category"}
    assert dataset.inputs["size"].tolist() == [row["size"] for row in rows()]
    assert dataset.inputs["kind"].tolist() == [row["kind"] for row in rows()]
    assert dataset.target.tolist() == [i % 3 for i in range(60)]
    assert dataset.target.dtype == np.int64
    assert set(dataset.split) == {"train", "validation", "test"}
    assert choice(seen, "task")[1] == "derived"
    assert choice(seen, "data.kinds")[0] == {"number": ["size"], "category": ["kind"]}


def test_equal_inputs_share_a_group_a_split_and_a_numbered_id(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text,label\n" + "hello big world,a\n" * 3 + "good bye my friend,b\n" * 40)
    dataset = see(tmp_path / "t.csv").dataset
    assert dataset.groups.tolist() == [0] * 3 + [1] * 40
    assert len(set(dataset.split[:3])) == 1
    assert dataset.ids[1] == dataset.ids[0] + "#2"
    assert len(set(dataset.ids)) == 43
    assert dataset.where[:2].tolist() == ["t.csv:2", "t.csv:3"]


def test_one_flipped_label_after_row_ten_thousand_changes_the_digest(tmp_path: Path) -> None:
    lines = [f"{i % 97},{i % 89},{'ab'[i % 2]}" for i in range(10_500)]
    digests = []
    for flipped in (None, 10_321):
        changed = [line[:-1] + "ba"[i % 2] if i == flipped else line for i, line in enumerate(lines)]
        (tmp_path / "t.csv").write_text("\n".join(["x,z,label", *changed]) + "\n")
        digests.append([see(tmp_path / "t.csv").dataset.digest for _ in range(2)])
    assert digests[0][0] == digests[0][1]
    assert digests[0][0] != digests[1][0]


def test_the_digest_covers_the_split_and_not_the_place(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        lines = "".join(f"{i},{'ab'[i % 3 == 0]}\n" for i in range(0, 90, 2))
        (tmp_path / name / "t.csv").write_text("x,label\n" + lines)
    one, two = (see(tmp_path / name / "t.csv").dataset for name in ("one", "two"))
    other = look(Data(path=str(tmp_path / "one" / "t.csv")), seed=1).dataset
    assert one.digest == two.digest != other.digest


def test_files_called_train_and_test_are_the_split_and_validation_is_cut_from_train(tmp_path: Path) -> None:
    for name, num in (("my_train.csv", 170), ("my-test.csv", 30)):
        text = "".join(f"row number {i} of {name},{'ab'[i % 2]}\n" for i in range(num))
        (tmp_path / name).write_text("text,label\n" + text)
    (tmp_path / "README.txt").write_text("about\n")
    seen = see(tmp_path)
    assert choice(seen, "data.split")[0] == {"train": 140, "validation": 30, "test": 30}
    assert "became validation" in choice(seen, "data.split")[2]
    assert all(where.startswith("my-test.csv") for where in seen.dataset.where[seen.dataset.rows("test")])
    assert [f.code for f in seen.findings].count("DAT104") == 1


def test_a_split_column_is_used_and_may_be_named(tmp_path: Path) -> None:
    words = ["train", "dev", "test"]
    lines = "".join(f"{i % 5},{'ab'[i % 2]},{words[i % 3]}\n" for i in range(30))
    (tmp_path / "t.csv").write_text("x,label,part\n" + lines)
    seen = see(tmp_path / "t.csv", split_column="part")
    assert seen.dataset.split.tolist() == ["train", "validation", "test"] * 10
    assert "part" not in seen.dataset.inputs
    with pytest.raises(StoneError, match=r"data\.split has no effect"):
        see(tmp_path / "t.csv", split_column="part", split=Shares())


def test_shares_of_the_recipe_are_kept(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,label\n" + "".join(f"{i}.5,{'ab'[i % 2]}\n" for i in range(100)))
    seen = see(tmp_path / "t.csv", split=Shares(train=0.5, validation=0.3, test=0.2))
    assert choice(seen, "data.split")[:2] == ({"train": 50, "validation": 30, "test": 20}, "user")


def test_features_text_and_label_of_the_recipe_overrule(tmp_path: Path) -> None:
    lines = "".join(f"a long text number {i},{i % 4},{'ab'[i % 2]},{'uv'[i % 2]}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("text,x,kind,label\n" + lines)
    path = tmp_path / "t.csv"
    assert see(path).dataset.task == "text-classification"
    assert list(see(path, features=["x", "kind"]).dataset.inputs) == ["x", "kind"]
    assert see(path, task="tabular-classification").dataset.kinds == {"x": "number", "kind": "category"}
    assert see(path, label="kind", text="text").dataset.classes == ("a", "b")
    with pytest.raises(StoneError, match="there is no column 'labl'"):
        see(path, label="labl")
    with pytest.raises(StoneErrors, match="did you mean 'kind'"):
        see(path, features=["kindd", "xx"])
    with pytest.raises(StoneError, match="contradict"):
        see(path, text="text", task="tabular-classification")


def test_several_labels_from_lists_separators_and_flags(tmp_path: Path) -> None:
    texts = [f"this is the text number {i}" for i in range(24)]
    sets = [["a", "b"], ["b"], ["c", "a"], []]
    (tmp_path / "l.jsonl").write_text(
        "\n".join(json.dumps({"text": t, "labels": sets[i % 4]}) for i, t in enumerate(texts))
    )
    flags = [",".join(str(int(name in names)) for name in "cab") for names in sets]
    (tmp_path / "f.csv").write_text(
        "text,c,a,b\n" + "".join(f"{text},{flags[i % 4]}\n" for i, text in enumerate(texts))
    )
    (tmp_path / "s.csv").write_text(
        "text,label\n" + "".join(f"{text},{'|'.join(sets[i % 3])}\n" for i, text in enumerate(texts))
    )
    lists, flagged = see(tmp_path / "l.jsonl").dataset, see(tmp_path / "f.csv", label=["c", "a", "b"]).dataset
    cut = see(tmp_path / "s.csv").dataset
    assert lists.task == flagged.task == cut.task == "text-multilabel"
    assert (lists.classes, flagged.classes) == (("a", "b", "c"), ("c", "a", "b"))
    # An empty list means "none of them", an absent one a missing label.
    assert len(flagged) == 24
    np.testing.assert_array_equal(flagged.target[:4], [[0, 1, 1], [0, 0, 1], [1, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(cut.target[:3], [[1, 1, 0], [0, 1, 0], [1, 0, 1]])
    assert lists.target.dtype == np.uint8


def test_fractions_make_a_regression_and_say_so(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,target\n" + "".join(f"{i},{i * 0.37:.2f}\n" for i in range(0, 120, 3)))
    seen = see(tmp_path / "t.csv")
    assert seen.dataset.task == "tabular-regression"
    assert seen.dataset.target.dtype == np.float64
    assert "fractions" in choice(seen, "task")[2]
    assert "DAT304" in {finding.code for finding in seen.findings}


def test_pictures_named_in_a_table_are_found_beside_it_or_below_it(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for i in range(12):
        Image.new("RGB", (8, 8), (i * 20, 0, 0)).save(tmp_path / "images" / f"{i}.png")
    (tmp_path / "t.csv").write_text("file,label\n" + "".join(f"{i}.png,{'ab'[i % 2]}\n" for i in range(12)))
    done: list[tuple[int, int]] = []
    seen = look(Data(path=str(tmp_path)), progress=lambda n, of, what: done.append((n, of)))
    assert seen.dataset.task == "image-classification"
    assert seen.dataset.inputs["file"][3] == str(tmp_path / "images" / "3.png")
    assert seen.dataset.where[3] == "t.csv:5"
    assert done[-1] == (12, 12)


def test_rules_of_the_recipe_are_obeyed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,c,label\n" + "".join(f"{i % 9},k,{'ab'[i % 2]}\n" for i in range(40)))
    data = Data(path=str(tmp_path / "t.csv"))
    assert "DAT301" in {f.code for f in look(data).findings}
    assert "DAT301" not in {f.code for f in look(data, rules=Rules(ignore=["DAT301"])).findings}


def test_a_file_in_memory_order_is_the_same_twice(tmp_path: Path) -> None:
    buffer = io.StringIO()
    polars.DataFrame(rows(200)).write_csv(buffer)
    (tmp_path / "t.csv").write_text(buffer.getvalue())
    one, two = see(tmp_path / "t.csv").dataset, see(tmp_path / "t.csv").dataset
    assert one.ids.tolist() == two.ids.tolist()
    assert one.split.tolist() == two.split.tolist()


def test_a_table_of_passengers_keeps_what_describes_them(tmp_path: Path) -> None:
    """Names are free text and tickets identifiers beside real features: neither makes this a text task."""
    lines = "".join(
        f'{i},{i % 2},{1 + i % 3},"Braund, Mr. Owen Number {i}",{"mf"[i % 5 > 1]},PC {i},{7.25 + i % 50}\n'
        for i in range(90)
    )
    (tmp_path / "t.csv").write_text("PassengerId,Survived,Pclass,Name,Sex,Ticket,Fare\n" + lines)
    seen = see(tmp_path / "t.csv")
    assert seen.dataset.target_name == "Survived"
    assert seen.dataset.kinds == {"Pclass": "number", "Sex": "category", "Fare": "number"}
    assert "Name (free text)" in choice(seen, "data.features")[2]


def test_one_column_of_words_that_hardly_repeat_is_text_and_one_of_numbers_is_not(tmp_path: Path) -> None:
    words = [chr(97 + i % 26) * (1 + i // 26) for i in range(60)]
    (tmp_path / "t.csv").write_text("name,label\n" + "".join(f"{w},{'ab'[i % 2]}\n" for i, w in enumerate(words)))
    assert see(tmp_path / "t.csv").dataset.task == "text-classification"
    lines = "".join(f"{w},{i % 9},{'ab'[i % 2]}\n" for i, w in enumerate(words))
    (tmp_path / "t.csv").write_text("name,x,label\n" + lines)
    assert see(tmp_path / "t.csv", features=["x"]).dataset.kinds == {"x": "number"}


@pytest.mark.parametrize(("name", "task"), [("iris", "classification"), ("diabetes", "regression")])
def test_scikit_learn_tables_are_read_number_for_number(tmp_path: Path, name: str, task: str) -> None:
    bunch = getattr(pytest.importorskip("sklearn.datasets"), f"load_{name}")()
    columns = {n: bunch.data[:, j] for j, n in enumerate(bunch.feature_names)}
    polars.DataFrame({**columns, "target": bunch.target}).write_csv(tmp_path / "t.csv")
    dataset = see(tmp_path / "t.csv").dataset
    assert dataset.task == f"tabular-{task}"
    np.testing.assert_array_equal(np.stack([dataset.inputs[n] for n in bunch.feature_names], axis=1), bunch.data)
    np.testing.assert_array_equal(dataset.target, bunch.target)


def test_text_beside_row_numbers_and_constants_is_text_and_an_address_beside_features_is_not(tmp_path: Path) -> None:
    lines = "".join(f"{i},en,what a day number {i},{'ab'[i % 2]}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("id,lang,said,label\n" + lines)
    seen = see(tmp_path / "t.csv")
    assert seen.dataset.kinds == {"said": "text"}
    assert "not used: id, lang" in choice(seen, "data.text")[2]
    lines = "".join(f"{i % 9},me{i}@there.org,{'ab'[i % 2]}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("age,title,label\n" + lines)
    assert see(tmp_path / "t.csv").dataset.task == "tabular-classification"
