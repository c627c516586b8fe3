"""Bytes to text, and which encoding it took."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from torchstone.core.errors import StoneError
from torchstone.parts.formats.content import HEAD_BYTES, nul_side

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Decoded:
    """Text, its encoding, and the first line (from 1) that is not UTF-8 where a single-byte encoding was guessed."""

    text: str
    encoding: str
    bad_line: int | None = None


def decode(data: bytes, where: str) -> Decoded:
    """The text of a file: by its byte-order mark, else UTF-16 by its NUL bytes, else UTF-8, else Windows-1252, else
    Latin-1.

    Windows-1252 stands before Latin-1 as in the WHATWG encoding standard, which reads the one name as the other.
    Raises StoneError for bytes that contradict their mark and for NUL bytes in the text.
    """
    decoded = _decode(data, where)
    if "\0" in decoded.text:
        line = decoded.text.count("\n", 0, decoded.text.index("\0")) + 1
        raise StoneError(
            f"{decoded.text.count(chr(0)):,} NUL bytes in the text, the first in this line; the file is damaged",
            where=f"{where}:{line}",
            fix="export it again, or take them out: tr -d '\\000' < OLD > NEW",
        )
    return decoded


def _decode(data: bytes, where: str) -> Decoded:
    side = nul_side(data[:HEAD_BYTES])
    named = next((name for mark, name in _MARKS if data.startswith(mark)), f"utf-16-{side}" if side else None)
    try:
        return Decoded(data.decode(named or "utf-8"), named or "utf-8")
    except UnicodeDecodeError as error:
        if named is not None:
            raise StoneError(
                f"begins as {named} but byte {error.start:,} does not fit: {error.reason}",
                where=where,
                fix="save the file again as UTF-8",
            ) from error
        line = data.count(b"\n", 0, error.start) + 1
    try:
        return Decoded(data.decode("cp1252"), "windows-1252", line)
    except UnicodeDecodeError:
        return Decoded(data.decode("latin-1"), "latin-1", line)
