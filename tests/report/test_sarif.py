"""SARIF as code-scanning services read it, and workflow commands of GitHub Actions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torchstone.core.catalog import all_rules
from torchstone.core.finding import Finding, Where
from torchstone.flows.audit import audit
from torchstone.flows.audit_places import Place, places
from torchstone.report.sarif import LEVELS, sarif, workflow_commands

RULES = all_rules("torchstone.rules.source")
CODE = """import torch
state = torch.load('a.pt', weights_only=False)
state = torch.load('a.pt', weights_only=False)
other = torch.load('b.pt', weights_only=False)  # torchstone: ignore[COD401] because we wrote it
"""


def log_of(path: Path) -> dict[str, Any]:
    """The log of an audit of one folder."""
    made = audit([path])
    found = list(zip(made.findings, places(made.findings), strict=True))
    silenced = places([one.finding for one in made.waived])
    waived = [(one.finding, place, one.reason) for one, place in zip(made.waived, silenced, strict=True)]
    return json.loads(json.dumps(sarif(found, waived, RULES, "1.2.3")))


@pytest.fixture
def log(tmp_path, monkeypatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my code").mkdir()
    (tmp_path / "my code" / "a.py").write_text(CODE)
    return log_of(Path("my code"))


def test_what_the_schema_requires_is_there(log) -> None:
    """`required` and `enum` of sarif-schema-2.1.0.json for the objects that we write."""
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    run, = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "torchstone"
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids)) == len(RULES)
    for rule in driver["rules"]:
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
        assert all(rule[key]["text"] for key in ("shortDescription", "fullDescription", "help"))
    for result in run["results"]:
        assert result["message"]["text"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
        for silenced in result.get("suppressions", []):
            assert silenced["kind"] in ("inSource", "external")
            assert silenced["status"] in ("accepted", "underReview", "rejected")
        for location in result["locations"]:
            region = location["physicalLocation"]["region"]
            assert all(isinstance(number, int) and number >= 1 for number in region.values())


def test_paths_are_relative_and_escaped_and_columns_count_from_one(log) -> None:
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "my%20code/a.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 47}


def test_a_waived_finding_is_a_result_with_its_reason(log) -> None:
    silenced = [result for result in log["runs"][0]["results"] if "suppressions" in result]
    assert [one["suppressions"] for one in silenced] == [
        [{"kind": "inSource", "status": "accepted", "justification": "we wrote it"}]
    ]


def test_fingerprints_differ_and_stay_when_lines_are_added_above(log, tmp_path) -> None:
    def prints(one: dict[str, Any]) -> list[str]:
        return [result["partialFingerprints"]["torchstoneLine/v1"] for result in one["runs"][0]["results"]]

    (tmp_path / "my code" / "a.py").write_text("# new\n\n" + CODE)
    assert prints(log_of(Path("my code"))) == prints(log)
    assert len(set(prints(log))) == 3


def test_a_path_outside_of_the_current_folder_is_absolute(tmp_path, monkeypatch) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "a.py").write_text(CODE)
    monkeypatch.chdir(tmp_path / "x")
    result = log_of(tmp_path / "a.py")["runs"][0]["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": (tmp_path / "a.py").as_uri()}


def test_a_notebook_points_to_the_line_of_the_stored_file(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [{"cell_type": "markdown", "source": ["# a"]}, {"cell_type": "code", "source": CODE.splitlines(True)}]
    Path("a.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}, indent=1))
    result = log_of(Path("a.ipynb"))["runs"][0]["results"][0]
    line = result["locations"][0]["physicalLocation"]["region"]["startLine"]
    assert "state = torch.load" in Path("a.ipynb").read_text().splitlines()[line - 1]
    assert "(cell 2, line 2)" in result["message"]["text"]


def test_a_finding_without_a_place_has_no_location() -> None:
    one = Finding("COD999", "advice", "what", "why", "fix")
    result, = sarif([(one, Place(""))], [], [], "1")["runs"][0]["results"]
    assert "locations" not in result
    assert result["level"] == LEVELS["advice"] == "note"


def test_workflow_commands_escape_what_the_runner_would_read(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    one = Finding("COD1", "advice", "50 % of\nlines: a, b", "why", "mend::it", Where("a,b:c%.py", 3))
    line, = workflow_commands([(one, Place("a,b:c%.py", 3, 5))])
    assert line == (
        "::notice file=a%2Cb%3Ac%25.py,line=3,col=5,title=torchstone COD1::50 %25 of%0Alines: a, b. mend::it"
    )
