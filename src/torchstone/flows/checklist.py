"""A checklist from its YAML: the one that is packaged, or one's own."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from importlib import import_module, resources
from pathlib import Path
from typing import Any

from torchstone.core import catalog, marks
from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.review import Checklist, Judge, Question
from torchstone.flows.rulebook import every_rule

PROOFS = "torchstone.rules.review"
KEYS = ("key", "ask", "rules", "proof", "options", "why", "source")
EXAMPLE = 'questions: [{key: R1, ask: "Were the licences of the data checked?"}, {key: R2, ask: …, rules: [DAT202]}]'


def read_checklist(path: Path | None = None) -> Checklist:
    """The checklist of a file; without one, the twenty questions.

    Raises StoneErrors that tell every mistake at once, with its line: unknown fields, codes that no rule has, keys
    given twice, options that a proof does not take.
    """
    if path is None:
        text = resources.files("torchstone.parts.checklists").joinpath("twenty.yaml").read_text(encoding="utf-8")
        return _Reader("twenty.yaml").checklist(text, "torchstone")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise StoneError(f"the checklist cannot be read: {reason}", where=str(path)) from None
    return _Reader(str(path)).checklist(text, str(path))


def proofs() -> dict[str, Judge]:
    """Code of each rule of a review → the function that answers; it has the name of its file."""
    rooms = [(name, import_module(f"{PROOFS}.{name}")) for name in catalog.names(PROOFS)]
    return {room.RULE.code: getattr(room, name) for name, room in rooms}


class _Reader:
    """Turns the parsed text into questions, noting mistakes on the way."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._errors: list[StoneError] = []
        self._lines: dict[marks.Path, int] = {}
        self._codes = {rule.code for rule in every_rule()}
        self._proofs = proofs()

    def checklist(self, text: str, source: str) -> Checklist:
        marked = marks.parse(text, self._source)
        self._lines = marked.lines
        value = marked.value
        if not isinstance(value, dict) or not isinstance(value.get("questions"), list) or not value["questions"]:
            raise StoneError("a checklist has a list of questions", where=self._source, fix=EXAMPLE)
        self._unknown(value, ("name", "questions"), ())
        asked = [self._question(entry, index) for index, entry in enumerate(value["questions"])]
        questions = tuple(question for question in asked if question is not None)
        self._twice(questions)
        if self._errors:
            raise self._errors[0] if len(self._errors) == 1 else StoneErrors(self._errors)
        name = value.get("name") or Path(self._source).stem
        return Checklist(str(name), questions, source)

    def _error(self, path: marks.Path, what: str, fix: str | None = None) -> None:
        line = next((self._lines[path[:n]] for n in range(len(path), -1, -1) if path[:n] in self._lines), 1)
        self._errors.append(StoneError(what, where=f"{self._source}:{line} {marks.dotted(path)}".rstrip(), fix=fix))

    def _unknown(self, value: Mapping[str, Any], known: tuple[str, ...], path: marks.Path) -> None:
        for key in value:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1)
                fix = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known)}"
                self._error((*path, key), f"there is no field '{key}' here", fix)

    def _question(self, entry: Any, index: int) -> Question | None:
        path: marks.Path = ("questions", index)
        if isinstance(entry, str):
            return self._of_code(entry, path)
        if not isinstance(entry, dict):
            self._error(path, "a question is a code, or a section with key and ask", EXAMPLE)
            return None
        self._unknown(entry, KEYS, path)
        for field in ("key", "ask"):
            if not isinstance(entry.get(field), str) or not entry[field].strip():
                self._error((*path, field), f"a question needs a text '{field}'", EXAMPLE)
        rules, proof, options = entry.get("rules") or [], entry.get("proof") or "", entry.get("options") or {}
        if not isinstance(rules, list) or not isinstance(options, dict):
            self._error(path, "rules is a list of codes, options a section", EXAMPLE)
            return None
        for place, code in enumerate(rules):
            self._known(code, self._codes, (*path, "rules", place))
        if proof:
            self._known(proof, self._proofs, (*path, "proof"))
        self._check_options(proof, options, path)
        texts = {key: str(entry.get(key) or "") for key in ("key", "ask", "why", "source")}
        return Question(**texts, rules=tuple(map(str, rules)), proof=str(proof), options=options)

    def _of_code(self, code: str, path: marks.Path) -> Question | None:
        """A bare code is the question of that rule."""
        rule = next((rule for rule in every_rule() if rule.code == code), None)
        if rule is None:
            self._known(code, self._codes, path)
            return None
        own = code in self._proofs
        ask = f"Is it free of this: {rule.summary}?"
        return Question(code, ask, () if own else (code,), code if own else "", {}, rule.why, rule.source)

    def _known(self, code: Any, known: Any, path: marks.Path) -> None:
        if code not in known:
            near = difflib.get_close_matches(str(code).upper(), list(known), n=1)
            fix = f"did you mean {near[0]}?" if near else "list them with: torchstone rules"
            self._error(path, f"no rule has the code '{code}'", fix)

    def _check_options(self, proof: Any, options: Mapping[str, Any], path: marks.Path) -> None:
        judge = self._proofs.get(str(proof))
        known = _options(judge) if judge else {}
        self._unknown(options, tuple(known), (*path, "options"))
        for name, value in options.items():
            wanted = known.get(name)
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if wanted is not None and not (is_number if isinstance(wanted, float) else isinstance(value, type(wanted))):
                self._error((*path, "options", name), f"found {value!r}; expected something like {wanted!r}")

    def _twice(self, questions: tuple[Question, ...]) -> None:
        seen: set[str] = set()
        for index, question in enumerate(questions):
            if question.key.upper() in seen:
                self._error(("questions", index), f"the key '{question.key}' is given twice", "keep keys apart")
            seen.add(question.key.upper())


def _options(judge: Callable[..., Any]) -> dict[str, Any]:
    """The options of a proof and their defaults."""
    parameters = inspect.signature(judge).parameters.values()
    return {one.name: one.default for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}
