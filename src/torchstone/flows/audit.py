"""`audit`: reads training code, asks every source rule about it, runs none of it."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

from torchstone.core.catalog import all_rules
from torchstone.core.finding import Finding
from torchstone.core.recipe import Rules
from torchstone.core.rule import Rule
from torchstone.flows.audit_files import find_sources, is_judged, read_all, read_beside
from torchstone.flows.judge import explained, is_ignored, selected
from torchstone.parts.source.module import Module
from torchstone.parts.source.notebook import place
from torchstone.parts.source.project import Project
from torchstone.parts.source.read import read_source

FOLDER = "torchstone.rules.source"
# From this many files on, several processes read.
MANY = 24
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Waived:
    """A finding that a comment in the code silences, with the reason that it gives."""

    finding: Finding
    reason: str

    def to_json(self) -> dict[str, Any]:
        """The waiver as programs read it."""
        return {"code": self.finding.code, "where": self.finding.where.to_json(), "reason": self.reason}


@dataclass(frozen=True)
class Audit:
    """What was read and found. files: of Python; judged: those of them that use a training library."""

    files: int
    judged: int
    lines: int
    rules: tuple[str, ...]
    findings: list[Finding]
    waived: list[Waived] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The audit as programs read it."""
        return {
            "files": self.files, "judged": self.judged, "lines": self.lines, "rules": list(self.rules),
            "findings": [finding.to_json() for finding in self.findings],
            "waived": [one.to_json() for one in self.waived],
        }  # fmt: skip


def audit(
    paths: Sequence[Path], *, exclude: Sequence[str] = (), rules: Rules | None = None, jobs: int | None = None,
    progress: Progress | None = None,
) -> Audit:  # fmt: skip
    """Every finding about the code of these files and folders; nothing of it is imported or run.

    exclude: patterns of paths to leave out. jobs: processes (None: one per core where the files are many).
    Raises StoneError for a path that is not there.
    """
    rules = rules or Rules()
    sources = find_sources(paths, exclude)
    asked = [rule for rule in all_rules(FOLDER) if not is_ignored(rule.code, rules.ignore)]
    with _trees_stay():
        modules = read_all(sources)
        project = Project([*modules, *read_beside(modules, sources)])
        judged = [module for module in modules if is_judged(module)]
        gc.freeze()
        found = _judge_all(_Work(judged, project, rules, asked), jobs, progress)
    kept, waived = _without_waived(judged, found)
    return Audit(
        files=len(modules), judged=len(judged), lines=sum(len(module.lines) for module in judged),
        rules=tuple(rule.code for rule in asked), findings=kept, waived=waived,
    )  # fmt: skip


@contextmanager
def _trees_stay() -> Iterator[None]:
    """The collector of cycles does not walk the syntax trees again and again: half of the time went there."""
    was_on, threshold = gc.isenabled(), gc.get_threshold()
    gc.set_threshold(50_000, *threshold[1:])
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        if was_on:
            gc.unfreeze()


def judge_module(module: Module, project: Project, rules: Rules, asked: Sequence[Rule]) -> list[Finding]:
    """What the source rules find in one file; of one cause one finding."""
    source = read_source(module, project)
    found = [finding for rule in asked for finding in rule.check(source)]
    unsaid = explained(found, asked)
    said = selected((finding for finding in found if finding.code not in unsaid), rules)
    return [_placed(_without_edits(finding, module), module) for finding in said]


def _without_edits(finding: Finding, module: Module) -> Finding:
    """The same; edits are for the file that was asked about alone."""
    if finding.where.path == module.path or "edits" not in finding.evidence:
        return finding
    return replace(finding, evidence={key: value for key, value in finding.evidence.items() if key != "edits"})


def _placed(finding: Finding, module: Module) -> Finding:
    """The same with the cell of a notebook."""
    if not module.cells or finding.where.line is None or finding.where.path != module.path:
        return finding
    return replace(finding, where=replace(finding.where, field=place(finding.where.line, module.cells)))


@dataclass(frozen=True)
class _Work:
    modules: list[Module]
    project: Project
    rules: Rules
    asked: list[Rule]


# What a forked process is to read; set before the fork, so that nothing is sent.
_work: _Work | None = None


def _judge_all(work: _Work, jobs: int | None, progress: Progress | None) -> list[Finding]:
    """The findings of all files, each kind of fault of a line once; read by several processes where that pays."""
    global _work
    modules = work.modules
    jobs = min(jobs or (os.cpu_count() or 1), max(1, len(modules)))
    is_forked = jobs > 1 and len(modules) >= MANY and "fork" in multiprocessing.get_all_start_methods()
    _work = work
    found: list[list[Finding]] = []
    try:
        if is_forked:
            with _pool(jobs) as pool:
                results: Iterable[list[Finding]] = pool.imap(_judge_one, range(len(modules)), chunksize=8)
                found = _told(results, modules, progress)
        else:
            found = _told(map(_judge_one, range(len(modules))), modules, progress)
    finally:
        _work = None
    paths = {module.path for module in modules}
    once: dict[tuple[str, str, int | None], Finding] = {}
    for finding in (finding for one in found for finding in one if finding.where.path in paths):
        once.setdefault((finding.code, finding.where.path or "", finding.where.line), finding)
    return selected(once.values(), Rules())


def _pool(jobs: int) -> Pool:
    """Processes that Ctrl-C does not reach, so that they die without a word when this one ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return multiprocessing.get_context("fork").Pool(jobs)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _told(results: Iterable[list[Finding]], modules: list[Module], progress: Progress | None) -> list[list[Finding]]:
    found = []
    for number, result in enumerate(results):
        found.append(result)
        if progress is not None:
            progress(number + 1, len(modules), modules[number].path)
    return found


def _judge_one(number: int) -> list[Finding]:
    assert _work is not None
    return judge_module(_work.modules[number], _work.project, _work.rules, _work.asked)


def _without_waived(modules: Iterable[Module], findings: Iterable[Finding]) -> tuple[list[Finding], list[Waived]]:
    """The findings that stand, and those that a comment with a reason silences: on the line, or alone above it."""
    by_path = {module.path: module for module in modules}
    kept, waived = [], []
    for finding in findings:
        reason = _reason(by_path.get(finding.where.path or ""), finding)
        if reason:
            waived.append(Waived(finding, reason))
        else:
            kept.append(finding)
    return kept, waived


def _reason(module: Module | None, finding: Finding) -> str:
    """Why a comment silences a finding; empty where none does, or where it gives no reason."""
    line = finding.where.line
    if module is None or line is None:
        return ""
    for number in (line, line - 1):
        comment = module.ignored.get(number)
        if comment is None:
            continue
        is_alone = number == line or module.lines[number - 1].lstrip().startswith("#")
        if is_alone and (not comment.codes or is_ignored(finding.code, comment.codes)):
            return comment.reason
    return ""
