"""`audit --fix`: applies the edits that findings carry, and reads the result again before it is written."""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchstone.core.errors import StoneError
from torchstone.core.finding import Finding
from torchstone.core.store import plain_os_errors, written_aside
from torchstone.flows.audit_edits import LINE_END, Edit, chosen, replaced
from torchstone.flows.audit_notebook import NotEditable, editable, with_edits
from torchstone.parts.source.module import UnreadableSource, parse_module
from torchstone.parts.source.notebook import code_of

Groups = Sequence[Sequence[Edit]]


@dataclass(frozen=True)
class Mended:
    """A file with its edits: how many, the new bytes beside the old, and how many mends could not be made.

    left: findings whose edits overlap those of another, or after which the file would be no Python.
    """

    path: str
    edits: int
    before: bytes
    after: bytes
    left: int = 0

    def diff(self) -> str:
        """A unified diff of the file; its line ends stand as they are in the file."""
        old, new = (_shown(data) for data in (self.before, self.after))
        lines = difflib.unified_diff(old, new, f"a/{_bare(self.path)}", f"b/{_bare(self.path)}")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    def to_json(self) -> dict[str, Any]:
        """What was mended in a file, as programs read it."""
        return {"path": self.path, "edits": self.edits, "left": self.left}


def mend(findings: Iterable[Finding]) -> list[Mended]:
    """Every file of the findings with its edits applied, nothing written yet.

    The edits of a finding are made together or not at all: not where they overlap those of a finding before it, and not
    where the file would be no Python afterwards. Line ends, encoding, byte-order mark and, in notebooks, everything
    but the edited lines stay byte for byte. Raises StoneError where a file cannot be read.
    """
    by_path: dict[str, list[Sequence[Edit]]] = {}
    for finding in findings:
        edits = finding.evidence.get("edits", ())
        if edits and finding.where.path:
            by_path.setdefault(finding.where.path, []).append(edits)
    made = (_mend_file(path, groups) for path, groups in by_path.items())
    return [one for one in made if one.after != one.before or one.left]


def write(mended: Iterable[Mended]) -> None:
    """Write mended files in place, each whole or not at all; mode and owner stay, a link stays a link.

    Raises StoneError where a file has changed since it was read, before anything is written, or may not be written.
    """
    changed = [one for one in mended if one.after != one.before]
    for one in changed:
        if Path(one.path).read_bytes() != one.before:
            raise StoneError("the file changed while it was being mended; nothing was written", where=one.path,
                             fix="run torchstone audit --fix again")
        if not os.access(one.path, os.W_OK):
            raise StoneError("the file may not be written to; nothing was written", where=one.path,
                             fix="change its rights, or leave it out with --exclude")
    for one in changed:
        path = Path(os.path.realpath(one.path))
        status = path.stat()
        with plain_os_errors(path), written_aside(path) as file:
            os.fchmod(file.fileno(), status.st_mode & 0o7777)
            with contextlib.suppress(OSError):  # only its owner, or root, may hand a file on; the content counts more
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            file.write(one.after)


def _mend_file(path: str, groups: Groups) -> Mended:
    try:
        before = Path(path).read_bytes()
    except OSError as error:
        raise StoneError(f"cannot be read: {error.strerror}", where=path, fix="check its permissions") from error
    mend_data = mend_notebook if path.endswith(".ipynb") else mend_script
    after, made, left = mend_data(before, groups)
    return Mended(path, made, before, after, left)


def mend_script(data: bytes, groups: Groups) -> tuple[bytes, int, int]:
    """The bytes of a .py file with groups of edits applied, the edits made, and the groups that were left out."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
        is_true = text.encode(encoding) == data
    except (SyntaxError, UnicodeError, LookupError):
        is_true = False
    if not is_true:
        return data, 0, len(groups)

    def is_sound(changed: str) -> bool:
        try:
            changed.encode(encoding)
        except UnicodeEncodeError:
            return False
        return is_python(LINE_END.sub("\n", changed))

    spans, left = chosen(text, groups, is_sound)
    return replaced(text, spans).encode(encoding), len(spans), left


def mend_notebook(data: bytes, groups: Groups) -> tuple[bytes, int, int]:
    """The bytes of a notebook with groups of edits applied, the edits made, and the groups that were left out."""
    try:
        code, cells = code_of(data, UnreadableSource)
        raw = data.decode("utf-8")
        stored = editable(raw, code, cells)
    except (UnreadableSource, UnicodeDecodeError, NotEditable):
        return data, 0, len(groups)
    possible = [group for group in groups if all(any(cell.holds(edit) for cell in stored) for edit in group)]
    spans, left = chosen(code, possible, is_python)
    after = with_edits(raw, stored, [span.edit for span in spans]).encode("utf-8")
    if not _reads_back(after, replaced(code, spans)):
        return data, 0, len(groups)
    return after, len(spans), left + len(groups) - len(possible)


def _reads_back(data: bytes, code: str) -> bool:
    """Whether a notebook that was put together holds just the code that it should."""
    try:
        return code_of(data, UnreadableSource)[0] == code
    except UnreadableSource:
        return False


def is_python(text: str) -> bool:
    """Whether a text is Python that this interpreter can read."""
    try:
        parse_module(text)
    except UnreadableSource:
        return False
    return True


def _shown(data: bytes) -> list[str]:
    """The lines of a file for a diff, in the encoding that it names."""
    encoding = "utf-8"
    with contextlib.suppress(SyntaxError):
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return io.StringIO(data.decode(encoding, "replace"), newline="\n").readlines()


def _bare(path: str) -> str:
    """A path as it stands behind a/ and b/ in a diff, so that `git apply` and `patch -p1` find the file."""
    return os.path.relpath(path).replace(os.sep, "/") if not Path(path).is_absolute() else path.lstrip("/")
