"""What the reader knows of values: where they came from, through names, functions, files, classes and branches."""

from __future__ import annotations

import ast
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchstone.flows.audit_files import read_all
from torchstone.parts.source.bindings import bound_by, only
from torchstone.parts.source.module import UnreadableSource, parse_module, read_module
from torchstone.parts.source.moment import exclude_each_other
from torchstone.parts.source.notebook import code_of, place
from torchstone.parts.source.project import project_of
from torchstone.parts.source.read import read_source, sketch
from torchstone.parts.source.stage import MAX_EITHER, MAX_STEPS, MAX_STEPS_ASIDE
from torchstone.parts.source.training import optimizer_steps
from torchstone.parts.source.value import alternatives, peel


def shown(text, **others):
    """What was given to `show(...)`, by the names of what made it."""
    calls = sketch(text, **others).plays[0].calls("show", ".__call__")
    found = next(one.value for one in calls if one.value.receiver is None or one.value.receiver.name == "show")
    return [one.name if one.const is None else one.const for one in alternatives(found.args[0])]


def test_a_value_is_followed_through_names_and_aliases_of_imports():
    assert shown("from torch import optim as o\na = o.Adam([])\nb = c = a\nshow(c)\n") == ["torch.optim.Adam"]


def test_a_value_is_followed_through_functions_of_the_same_file():
    text = "import torch\ndef make(kind):\n    return kind([])\nshow(make(torch.optim.SGD))\n"
    assert shown(text) == ["torch.optim.SGD"] or shown(text) == ["kind"]
    assert shown("import torch\ndef make():\n    return torch.zeros(3)\nshow(make())\n") == ["torch.zeros"]


def test_a_value_is_followed_through_fields_of_a_class():
    text = ("import torch\nclass T:\n    def __init__(self):\n        self.opt = torch.optim.SGD([])\n"
            "t = T()\nshow(t.opt)\n")
    assert shown(text) == ["torch.optim.SGD"]


def test_inherited_methods_are_found_in_another_file():
    base = "import torch\nclass Base:\n    def make(self):\n        return torch.ones(1)\n"
    assert shown("from base import Base\nclass T(Base):\n    pass\nshow(T().make())\n", base=base) == ["torch.ones"]


def test_both_arms_of_a_branch_are_kept():
    assert shown("import sys\nif sys.argv:\n    a = 1\nelse:\n    a = 2\nshow(a)\n") == [1, 2]


def test_what_an_except_binds_is_one_possibility_and_not_the_only_one():
    assert shown("try:\n    a = 1\nexcept ImportError:\n    a = 2\nshow(a)\n") == [1, 2]
    assert shown("try:\n    a = 1\nexcept ImportError:\n    raise\nshow(a)\n") == [1]


def test_calls_in_two_arms_exclude_each_other():
    play = sketch("if x:\n    f()\nelse:\n    g()\nh()\n").plays[0]
    f, g, h = play.calls()
    assert exclude_each_other(f, g)
    assert not exclude_each_other(f, h)


@pytest.mark.parametrize("how", ["import parts\nshow(parts.MADE)\n", "from parts import MADE\nshow(MADE)\n",
                                 "from parts import MADE as m\nshow(m)\n", "from parts import *\nshow(MADE)\n",
                                 "def f():\n    from parts import MADE\n    show(MADE)\nf()\n",
                                 "if x:\n    from parts import MADE\nshow(MADE)\n"])
def test_a_name_of_another_file_is_found(how):
    assert shown(how, parts="import torch\nMADE = torch.ones(2)\n") == ["torch.ones"]


def test_a_name_is_handed_on_by_files_between():
    others = {"a": "from b import *\n", "b": "from c import MADE\n", "c": "import torch\nMADE = torch.ones(1)\n"}
    assert shown("from a import MADE\nshow(MADE)\n", **others) == ["torch.ones"]


def test_of_another_file_only_what_is_wanted_is_read():
    parts = ("import torch\nUNUSED = [" + "torch.zeros(1), " * 2000 + "]\n"
             "if torch:\n    A = 1\n    B = UNUSED\nelse:\n    A = 2\n")
    source = sketch("from parts import A\nshow(A)\n", parts=parts)
    assert [one.const for one in alternatives(source.plays[0].calls()[0].value.args[0])] == [1, 2]
    assert source.budget.left > MAX_STEPS_ASIDE - 100


def test_files_that_import_each_other_are_read_to_their_end():
    source = sketch("from a import A\nclass M(A):\n    pass\nM()\n", a="from b import B\nclass A(B):\n    pass\n",
                    b="from a import A\nclass B:\n    other = A\n")
    assert not source.plays[0].is_cut
    assert source.classes[0].name == "M"


def test_a_call_that_calls_itself_ends():
    source = sketch("def f(n):\n    return f(n - 1)\ndef g():\n    return h()\ndef h():\n    return g()\nf(3)\ng()\n")
    assert len(source.plays) == 1
    assert not source.plays[0].is_cut


def test_what_is_too_long_is_cut_and_says_so():
    body = "".join(f"    x{number} = [{'g(1), ' * 40}]\n" for number in range(30))
    source = sketch(f"import torch\ndef g(n):\n    return n\ndef f():\n{body}f()\nf()\n{'f()' + chr(10)}" * 9)
    assert any(play.is_cut for play in source.plays)


def test_the_budget_of_a_file_is_one_for_all_its_plays():
    functions = "".join(f"def f{number}(a):\n    return [{'a(1), ' * 200}]\n" for number in range(200))
    source = sketch(functions)
    assert source.budget.left < 0
    assert source.plays[-1].is_cut
    assert not source.plays[0].is_cut
    longer = sketch("# optimizer(\n" + functions)
    assert sum(not play.is_cut for play in longer.plays) > sum(not play.is_cut for play in source.plays)
    assert MAX_STEPS > MAX_STEPS_ASIDE


def test_reading_twice_gives_the_same():
    text = Path(read_source.__code__.co_filename).read_text()
    first, second = sketch(text), sketch(text)
    assert [[repr(one.value) for one in play.moments] for play in first.plays] == [
        [repr(one.value) for one in play.moments] for play in second.plays]


def test_of_many_possibilities_the_rest_is_unknown():
    text = "".join(f"if c{number}:\n    a = {number}\n" for number in range(60))
    value = sketch(f"a = -1\n{text}show(a)\n").plays[0].calls()[-1].value.args[0]
    assert len(alternatives(value)) <= MAX_EITHER
    assert any(one.kind == "unknown" for one in alternatives(value))


def test_changes_of_shape_and_place_are_looked_through():
    value = sketch("import torch\nshow(torch.ones(3).to('cuda').view(-1).float())\n").plays[0].calls()[-1].value.args[0]
    assert [one.name for one in peel(value)] == ["torch.ones"]


def test_a_method_that_nobody_calls_is_played_alone_on_an_instance():
    text = ("import torch\nclass T:\n    def __init__(self, m):\n        self.opt = torch.optim.SGD(m.parameters())\n"
            "    def step(self):\n        self.opt.step()\n    def more(self):\n        self.opt.step()\n")
    source = sketch(text)
    assert [play.entry.name if play.entry else None for play in source.plays] == [None, "step", "more"]
    assert [len(optimizer_steps(play)) for play in source.plays] == [0, 1, 1]


def test_deep_nesting_cuts_the_play_and_raises_nothing():
    text = "x = " + "(" * 80 + "1" + ")" * 80 + "\ny = " + "a." * 600 + "b\n"
    source = sketch(text)
    assert source.plays[0].is_cut or source.plays[0].moments == []


def test_a_huge_list_of_numbers_is_read_within_the_budget():
    source = sketch("import torch\nX = [" + "1, " * 50_000 + "]\nshow(X)\n")
    assert source.plays[0].is_cut
    assert source.budget.left < 0


def test_of_a_statement_only_the_part_for_a_name_is_left():
    tree = ast.parse("try:\n    from a import b, c\nexcept ImportError:\n    b = None\n    d = 1\n").body[0]
    assert list(bound_by(tree)) == ["b", "c", "b", "d"]
    assert ast.unparse(only(tree, "b")) == "try:\n    from a import b\nexcept ImportError:\n    b = None"


def test_relative_imports_are_the_projects_own_and_make_no_file_one_that_trains():
    module = parse_module("from . import x\nfrom ..torch import y\n", "torch.a.b", "torch/a/b.py")
    assert not module.imports("torch")
    assert "torch.a.x" in module.imported
    assert parse_module("def f():\n    try:\n        import torch.nn\n    except E:\n        pass\n").imports("torch")


def test_magics_of_a_notebook_are_blanked_and_lines_keep_their_cell():
    book = ('{"cells": [{"cell_type": "markdown", "source": "x"}, {"cell_type": "code", "source": ['
            '"%matplotlib inline\\n", "!pip install x\\n", "files = !ls\\n", "a = 1"]}, '
            '{"cell_type": "code", "source": "%%bash\\nrm x"}]}')
    text, cells = code_of(book.encode(), UnreadableSource)
    assert text == "pass\npass\nfiles = None\na = 1\npass\n\n"
    assert place(4, cells) == "cell 2, line 4"
    assert place(5, cells) == "cell 3, line 1"


@given(st.binary(max_size=200) | st.recursive(
    st.none() | st.text(max_size=9) | st.integers(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["cells", "cell_type", "source", "x"]), inner, max_size=3), max_leaves=9))
@settings(max_examples=150, deadline=None)
def test_any_notebook_is_read_or_said_to_be_unreadable(tmp_path_factory, made):
    path = tmp_path_factory.mktemp("books") / "a.ipynb"
    path.write_bytes(made if isinstance(made, bytes) else json.dumps(made).encode())
    with suppress(UnreadableSource):
        read_source(read_module(path, "a", "a.ipynb"))


@pytest.mark.parametrize("data", [b"def f(:\n", b"\xff\xfe\x00", b"x = '\x00'\n", b"# coding: nonsense\n",
                                  b"print 'x'\n", b"(" * 3000])
def test_a_file_that_is_no_python_says_why(tmp_path, data):
    path = tmp_path / "a.py"
    path.write_bytes(data)
    with pytest.raises(UnreadableSource):
        read_module(path, "a", "a.py")


@pytest.mark.slow
def test_the_standard_library_is_read_without_an_error():
    files = [path for path in sorted(Path(ast.__file__).parent.rglob("*.py")) if "site-packages" not in path.parts][::5]
    modules = read_all([(path, Path(ast.__file__).parent) for path in files])
    project = project_of(modules)
    assert len(modules) > 100
    for module in modules:
        assert read_source(module, project).plays


def test_an_import_first_used_in_an_arm_that_ends_is_known_after_it():
    text = "def f(a):\n    from parts import MADE\n    if a:\n        g(MADE)\n        return\n    show(MADE)\nf(x)\n"
    assert shown(text, parts="import torch\nMADE = torch.ones(1)\n") == ["torch.ones"]
