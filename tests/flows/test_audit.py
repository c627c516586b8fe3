"""The audit of a folder: which files, by how many processes, and what lies beside them."""

from __future__ import annotations

import gc

from torchstone.flows.audit import MANY, audit
from torchstone.flows.audit_files import find_sources, read_all, read_beside

SICK = "import torch\nx = torch.nn.Linear(1, 1)\nx.requires_grad = False\n"


def test_several_processes_find_what_one_finds_in_the_same_order(tmp_path):
    for number in range(MANY + 2):
        (tmp_path / f"file{number}.py").write_text(SICK)
    one, two = audit([tmp_path], jobs=1), audit([tmp_path], jobs=2)
    assert len(one.findings) == MANY + 2
    assert one.to_json() == two.to_json()


def test_the_collector_of_cycles_is_left_as_it_was(tmp_path):
    (tmp_path / "a.py").write_text(SICK)
    before = gc.isenabled(), gc.get_threshold()
    audit([tmp_path], jobs=1)
    assert (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()) == (*before, 0)


def test_a_file_beside_is_read_and_a_library_beside_is_not(tmp_path):
    (tmp_path / "main.py").write_text("import own\nimport torch\n")
    (tmp_path / "own.py").write_text("a = 1\n")
    (tmp_path / "torch.py").write_text("a = 1\n")
    sources = find_sources([tmp_path / "main.py"], [])
    assert [one.name for one in read_beside(read_all(sources), sources)] == ["own"]


def test_in_a_folder_of_installed_packages_only_the_same_package_is_read_beside(tmp_path):
    site = tmp_path / "site-packages"
    for name in ("mine", "other"):
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").write_text("")
    (site / "mine" / "a.py").write_text("import other\nimport mine.b\n")
    (site / "mine" / "b.py").write_text("")
    sources = find_sources([site / "mine" / "a.py"], [])
    assert {one.name for one in read_beside(read_all(sources), sources)} >= {"mine.b"}
    assert not any(one.name.startswith("other") for one in read_beside(read_all(sources), sources))


def test_a_file_that_cannot_be_parsed_far_down_is_a_finding_there(tmp_path):
    (tmp_path / "broken.py").write_text("import torch\n" * 40 + "def f(:\n")
    (tmp_path / "sick.py").write_text(SICK)
    places = [(one.code, one.where.line) for one in audit([tmp_path]).findings]
    assert ("COD001", 41) in places
    assert ("COD122", 3) in places
