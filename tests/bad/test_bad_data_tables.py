"""Tables that are not as they should be: each mistake with its file and line, each repair said."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.finding import Finding
from torchstone.core.recipe import Data
from torchstone.flows.look import Look, look

BODY = "".join(f"{i % 9},{'uvw'[i % 3]},{'ab'[i % 2]}\n" for i in range(60))
TABLE = "x,kind,label\n" + BODY


def see(path: Path, data: bytes | str, **fields: object) -> Look:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return look(Data(path=str(path), **fields))  # type: ignore[arg-type]


def findings(seen: Look, code: str) -> list[Finding]:
    return [finding for finding in seen.findings if finding.code == code]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_marks_and_utf_16(path: Path, encoding: str) -> None:
    expected = see(path, TABLE).dataset
    found = see(path, TABLE.encode(encoding)).dataset
    assert list(found.inputs) == ["x", "kind"]
    assert found.ids.tolist() == expected.ids.tolist()


def test_latin_1_is_said(path: Path) -> None:
    seen = see(path, TABLE.replace(",a\n", ",Köln\n").encode("latin-1"))
    assert seen.dataset.classes == ("Köln", "b")
    (finding,) = findings(seen, "DAT103")
    assert (finding.where.path, finding.where.line) == ("t.csv", 2)


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters(path: Path, delimiter: str) -> None:
    assert list(see(path, TABLE.replace(",", delimiter)).dataset.inputs) == ["x", "kind"]


def test_quotes_and_newlines_in_fields(path: Path) -> None:
    lines = "".join(f'"He said ""no, {i}""\nand left the room",{"ab"[i % 2]}\n' for i in range(30))
    dataset = see(path, "text,label\n" + lines).dataset
    assert dataset.inputs["text"][1] == 'He said "no, 1"\nand left the room'
    assert dataset.where[:3].tolist() == ["t.csv:2", "t.csv:4", "t.csv:6"]


def test_ragged_rows(path: Path) -> None:
    with pytest.raises(StoneErrors) as caught:
        see(path, TABLE + "1,u\n" * 25)
    assert "t.csv:62: 2 fields where the first row has 3" in str(caught.value)
    assert "and 5 more such rows" in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"\n\n", "no row"),
        (b"x,label\n", "a header and no row"),
        (b"x,label\n1,a\n2,b\x00\n", "NUL bytes"),
        (b"PK\x03\x04 a workbook", "a packed archive"),
        (b"\x80\x04\x95\x01\x02\x03\x00\x01", "NUL bytes"),
    ],
)
def test_files_that_hold_no_table(path: Path, data: bytes, said: str) -> None:
    with pytest.raises(StoneError, match=said) as caught:
        see(path, data)
    assert "t.csv" in str(caught.value.where)
    assert caught.value.fix


def test_double_and_missing_names(path: Path) -> None:
    seen = see(path, ",x,x,label\n" + "".join(f"{i},{i % 7},{i % 5},{'ab'[i % 2]}\n" for i in range(40)))
    assert list(seen.dataset.inputs) == ["x", "x_2"]
    assert [finding.where.field for finding in findings(seen, "DAT105")] == ["column_1", "x_2"]
    assert [finding.where.field for finding in findings(seen, "DAT302")] == ["column_1"]


def test_no_header(path: Path) -> None:
    seen = see(path, BODY)
    assert len(seen.dataset) == 60
    assert seen.dataset.target_name == "column_3"
    assert len(findings(seen, "DAT106")) == 1


def test_no_column_looks_like_the_label(path: Path) -> None:
    text = "".join(f"the quick fox number {i},a lazy dog number {i}\n" for i in range(9))
    with pytest.raises(StoneError, match="columns: one, two"):
        see(path, "one,two\n" + text)


def test_names_of_classes_stay_as_written(path: Path) -> None:
    names = ["NA", "None", "null", "01", "1", "True", "False"]
    seen = see(path, "x,label\n" + "".join(f"{i},{names[i % 7]}\n" for i in range(0, 210, 3)))
    assert seen.dataset.classes == tuple(sorted(names))
    assert findings(seen, "DAT102") == []


def test_missing_labels_are_left_out_and_named(path: Path) -> None:
    seen = see(path, TABLE + "3,u,\n4,v,  \n")
    assert len(seen.dataset) == 60
    (finding,) = findings(seen, "DAT102")
    assert "2 of 62 rows" in finding.what
    assert "t.csv:62, t.csv:63" in finding.what
    with pytest.raises(StoneError, match="missing in all 2 rows"):
        see(path, "x,label\n1,\n2,\n")


def test_labels_that_differ_by_case_or_blanks(path: Path) -> None:
    seen = see(path, TABLE + "3,u,A\n4,v,b \n")
    said = " ".join(finding.what for finding in findings(seen, "DAT111"))
    assert "'A' (1)" in said
    assert "'b ' (1)" in said
    assert len(seen.dataset.classes) == 4


def test_one_class(path: Path) -> None:
    with pytest.raises(StoneError, match="nothing to learn: the label 'label' is 'a'") as caught:
        see(path, "x,label\n1,a\n2,a\n")
    assert "--label NAME, of: x" in str(caught.value)


def test_constant_identifier_and_leaking_columns(path: Path) -> None:
    lines = "".join(f"user{i},US,{'uv'[i % 2]},{i % 7},{'ab'[i % 2]}\n" for i in range(40))
    seen = see(path, "id,country,code,x,label\n" + lines)
    assert list(seen.dataset.inputs) == ["code", "x"]
    for code, column in (("DAT301", "country"), ("DAT302", "id"), ("DAT304", "code")):
        assert [finding.where.field for finding in findings(seen, code)] == [column]
    kept = see(path, "id,country,code,x,label\n" + lines, features=["id", "x"])
    assert list(kept.dataset.inputs) == ["id", "x"]


def test_no_column_left_to_learn_from(path: Path) -> None:
    with pytest.raises(StoneError, match="no column is left to learn from"):
        see(path, "country,label\n" + "US,a\nUS,b\n" * 20)


def test_infinity_and_odd_cells_in_numbers(path: Path) -> None:
    lines = "".join(f"{i}.5,{'ab'[i % 2]}\n" for i in range(150))
    seen = see(path, "x,label\n" + lines + "inf,a\nnan,b\n-inf,a\nforty,b\n")
    assert sum(value != value for value in seen.dataset.inputs["x"]) == 4
    (infinite,), (odd,) = findings(seen, "DAT303"), findings(seen, "DAT305")
    assert "2 infinite numbers, first at t.csv:152" in infinite.what
    assert "'forty' at t.csv:155" in odd.what


def test_ten_thousand_categories_and_ten_thousand_classes(path: Path) -> None:
    lines = "".join(f"k{i % 10_000},{i % 7},{'ab'[i % 2]}\n" for i in range(20_000))
    assert len(set(see(path, "kind,x,label\n" + lines).dataset.inputs["kind"])) == 10_000
    lines = "".join(f"{i % 13},{i % 7},c{i % 10_000}\n" for i in range(20_000))
    assert len(see(path, "kind,x,label\n" + lines).dataset.classes) == 10_000


def test_a_test_file_without_labels_is_left_out_and_said(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("x,kind\n1,u\n")
    (tmp_path / "train.csv").write_text(TABLE)
    seen = look(Data(path=str(tmp_path)))
    assert [finding.where.path for finding in findings(seen, "DAT109")] == ["test.csv"]
    assert set(seen.dataset.split) == {"train", "validation", "test"}


def test_a_test_file_with_other_columns_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text(TABLE)
    (tmp_path / "test.csv").write_text("x,label\n1,a\n")
    with pytest.raises(StoneError, match="lacks 1 columns that train"):
        look(Data(path=str(tmp_path)))


def test_pictures_that_a_table_names_but_are_not_there(path: Path) -> None:
    with pytest.raises(StoneError, match=r"there is no file 'a\.jpg'"):
        see(path, "image,label\na.jpg,a\nb.jpg,b\n")


def test_fractions_as_labels_of_texts(path: Path) -> None:
    with pytest.raises(StoneError, match="can be learnt from tables only"):
        see(path, "text,label\n" + "".join(f"a text of words {i},{i}.5\n" for i in range(20)))


def test_unknown_words_in_the_split_column(path: Path) -> None:
    with pytest.raises(StoneError, match="1 cells of 'part' name no split; the first is 'left'"):
        see(path, "x,label,part\n1,a,train\n2,b,left\n", split_column="part")


def test_broken_lines_of_json(tmp_path: Path) -> None:
    with pytest.raises(StoneErrors, match=r"t\.jsonl:2: not JSON"):
        see(tmp_path / "t.jsonl", '{"x": 1, "label": "a"}\n{"x": 2,\n[1]\n')
