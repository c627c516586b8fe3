"""What is known of a training, from its files: a run of ours, the rows of a watched loop, code that was audited."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torchstone.core.catalog import all_rules
from torchstone.core.errors import StoneError
from torchstone.core.finding import Finding
from torchstone.core.own_loop import loop_digest
from torchstone.core.recipe import Rules
from torchstone.core.review import Reviewed
from torchstone.core.run import PAPERS, Run, papers
from torchstone.core.trace import read_trace
from torchstone.flows import run_files
from torchstone.flows.ask_curves import CURVES, asked_curves
from torchstone.flows.audit_files import find_sources
from torchstone.flows.doctor import diagnosis_of
from torchstone.flows.judge import is_ignored
from torchstone.flows.name_curves import Wanted
from torchstone.flows.own_doctor import TRACE, judge_trace
from torchstone.flows.read_curves_own import read_own
from torchstone.flows.watch import FOLDERS

# The newest plan.yaml that is understood here.
PLAN_VERSION = 1


def known_run(run: Run) -> Reviewed:
    """A run of ours, finished or not; what a version before this one did not write is empty.

    Raises StoneError where a file is damaged, or of a newer version.
    """
    text = _plan_text(run)
    plan = run_files.read_plan(run)
    recipe = run.folder / "recipe.json"
    rules = run_files.stored_recipe(run).rules if recipe.is_file() else Rules()
    trace = read_trace(run.trace) if run.trace.is_file() else []
    result = _document(run, run.result)
    return Reviewed(
        name=run.name, kind="run", folder=str(run.folder), status=str(result.get("status") or "unfinished"), plan=plan,
        lines=_lines(text), trace=trace, environment=_document(run, run.environment), data=_document(run, run.data),
        result=result, papers=papers(run), checkpoint=_checkpoint(run), loop=loop_digest(),
        written={name: (run.folder / name).stat().st_mtime for name in PAPERS if (run.folder / name).is_file()},
        findings=_findings(run, trace, rules), asked=_asked(run, rules),
    )  # fmt: skip


def known_rows(path: Path) -> Reviewed:
    """What `torchstone watch --rows` wrote; all rules of watched loops are asked about it now.

    Raises StoneError where it is no such file, or damaged.
    """
    log = read_own(path)
    if log.rows is None:
        raise StoneError("this is the trace of a run, not rows of torchstone watch", where=str(path),
                         fix=f"name the run: torchstone review {path.parent}")
    try:
        diagnosis = diagnosis_of(log, Wanted(None, None, None), Rules())
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise StoneError(f"a row is not as torchstone watch writes it: {type(error).__name__}: {error}",
                         where=str(path), fix="watch the script again with --rows") from error
    from torchstone.rules._watched import Seen

    rules = [rule for folder in FOLDERS for rule in all_rules(folder)]
    rules += all_rules(CURVES) if diagnosis.history is not None else []
    asked = {rule.code: f"the rows of {path.name}" for rule in rules}
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Reviewed(name=path.name, kind="watched", status="watched", rows=Seen(log.rows),
                    papers={path.name: digest}, findings=diagnosis.findings, asked=asked)  # fmt: skip


def known_code(paths: Sequence[Path], reviewed: Reviewed | None = None) -> Reviewed:
    """The same, with what an audit of these files and folders says; without one, the audit alone."""
    from torchstone.flows.audit import audit

    made = audit(paths)
    names = ", ".join(map(str, paths))
    before = reviewed or Reviewed(name=names, kind="code", status="read")
    about = f"the code of {names} ({made.judged} of {made.files} files train)"
    asked = {**before.asked, **(dict.fromkeys(made.rules, about) if made.judged else {})}
    return replace(before, findings=[*before.findings, *made.findings], asked=asked)


def _code_digest(paths: Sequence[Path]) -> list[str]:
    """SHA-256 of each file that an audit of these paths reads."""
    files = sorted(path for path, _ in find_sources(paths, ())) if paths else []
    return [f"{path} {_sha256(path)}" for path in files]


def with_agreement(reviewed: Reviewed, path: Path) -> Reviewed:
    """The same, knowing what `torchstone agree --json` measured. Raises StoneError where the file is none of its."""
    try:
        data = path.read_bytes()
        said = json.loads(data)
    except (OSError, ValueError) as error:
        raise StoneError(f"it cannot be read: {error}", where=str(path)) from None
    known = said.get("coefficients") if isinstance(said, dict) else None
    if not isinstance(known, dict) or not all(isinstance(one, dict) for one in known.values()):
        raise StoneError("there are no coefficients in it", where=str(path),
                         fix='torchstone agree --json says {"coefficients": {"krippendorff_alpha": {"value": …')
    more = {"path": str(path), "digest": hashlib.sha256(data).hexdigest()}
    return replace(reviewed, agreement={**said, **more})


def mark_of(reviewed: Reviewed, paths: Sequence[Path] = ()) -> str:
    """What an answer of a person is bound to: another run of the same name, or other code, has another mark.

    plan.yaml and encoding.json are left out: a run that is taken up again with more epochs keeps its answers.
    """
    starts = reviewed.of("start")
    began = starts[0][1].get("time") if starts else None
    told = {name: digest for name, digest in reviewed.papers.items() if name not in ("plan.yaml", "encoding.json")}
    whole = [reviewed.kind, reviewed.name, began, sorted(told.items()), _code_digest(paths)]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


def _plan_text(run: Run) -> str:
    import yaml

    try:
        text = run.plan.read_text(encoding="utf-8")
        value = yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError):
        return ""  # read_plan says it
    version = value.get("version") if isinstance(value, dict) else None
    if isinstance(version, int) and version > PLAN_VERSION:
        raise StoneError(f"a newer torchstone made run {run.name}: its plan is of version {version}, known here is "
                         f"{PLAN_VERSION}", where=str(run.plan), fix="pip install -U torchstone")
    return text


def _lines(text: str) -> dict[str, int]:
    """Field of the plan → its line."""
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("- field: "):
            found[line.removeprefix("- field: ").strip().strip("'\"")] = number
    return found


def _document(run: Run, path: Path) -> Mapping[str, Any]:
    return run_files.read_document(run, path) if path.is_file() else {}


def _findings(run: Run, trace: list[dict[str, Any]], rules: Rules) -> list[Finding]:
    """Those of the run's file, and what its trace shows now, each once."""
    try:
        told = [Finding.from_json(row) for row in read_trace(run.findings)] if run.findings.is_file() else []
        found = [*told, *(judge_trace(trace, rules) if trace else [])]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        what = f"run {run.name} is damaged: a row of its trace or findings lacks something: "
        raise StoneError(f"{what}{type(error).__name__}: {error}", where=str(run.folder),
                         fix="bring the file back from a copy, or start a new run") from error
    return list({(one.code, str(one.where), one.what): one for one in found}.values())


def _asked(run: Run, rules: Rules) -> dict[str, str]:
    """Code → about what it was asked: before and in the run, as it wrote down; of the trace, now."""
    told = _document(run, run.asked)
    asked = {str(code): subject for subject, codes in told.items() if isinstance(codes, list) for code in codes}
    for rule in [*all_rules(TRACE), *asked_curves(rules)]:
        if not is_ignored(rule.code, rules.ignore):
            asked[rule.code] = "the trace"
    return asked


def _checkpoint(run: Run) -> dict[str, Any]:
    """The best checkpoint, each file held against its manifest; empty where there is none."""
    folder = run.checkpoints / "best"
    if not folder.is_dir():
        return {}
    try:
        listed = dict(json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"])
        step = int(json.loads((folder / "state.json").read_text(encoding="utf-8"))["progress"]["step"])
    except (OSError, ValueError, KeyError, TypeError):
        return {"name": "best", "step": -1, "files": {}, "wrong": ["manifest.json or state.json"]}
    found = {name: _sha256(folder / name) for name in listed}
    wrong = [name for name, digest in listed.items() if found[name] != digest]
    return {"name": "best", "step": step, "files": found, "wrong": wrong}


def _sha256(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
