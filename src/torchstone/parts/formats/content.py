"""What a file is, told by its first bytes."""

from __future__ import annotations

import re
from typing import Literal

from torchstone.parts.formats.picture import is_picture

Content = Literal["empty", "picture", "parquet", "json", "text", "sound", "archive", "series", "binary"]

HEAD_BYTES = 4096
# Names of tables; a folder's other text files (README.txt) are not data.
TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".psv", ".data", ".jsonl", ".ndjson", ".json", ".parquet", ".pq")
_SOUND = re.compile(rb"RIFF.{4}WAVE|fLaC|OggS|ID3|\xff[\xfb\xf3\xf2]|FORM.{4}AIF|.snd", re.DOTALL)
_ARCHIVE = re.compile(rb"PK\x03\x04|\x1f\x8b|BZh|\xfd7zXZ|7z\xbc\xaf|Rar!|\x28\xb5\x2f\xfd")
_JSON = re.compile(r"\s*(\{\s*(\"|\}|$)|\[\s*(\{|\]|$))")
_SERIES = re.compile(r"(\s*([#%].*)?\n)*\s*@(problemname|relation|timestamps|missing|univariate)\b", re.IGNORECASE)


def content(head: bytes) -> Content:
    """What a file with these first bytes (HEAD_BYTES are enough) holds.

    json: an object or an array of objects; series: the .ts and .arff formats; text: anything else that reads as
    characters, also UTF-16 and text with a few NUL bytes.
    """
    if not head:
        return "empty"
    if head.startswith(b"PAR1"):
        return "parquet"
    if _SOUND.match(head):
        return "sound"
    if _ARCHIVE.match(head):
        return "archive"
    if is_picture(head) and not _mostly_text(head):
        return "picture"
    if not _mostly_text(head):
        return "binary"
    text = head.decode("utf-8-sig", errors="replace").replace("\0", "").lstrip("\ufffd")
    if _JSON.match(text):
        return "json"
    return "series" if _SERIES.match(text) else "text"


def _mostly_text(head: bytes) -> bool:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or nul_side(head) is not None:
        return True
    controls = sum(head.count(byte) for byte in range(32) if byte not in (9, 10, 11, 12, 13, 27))
    return controls <= 0.05 * len(head)


def nul_side(head: bytes) -> Literal["le", "be"] | None:
    """Which byte of each pair is NUL in UTF-16 text without a mark: `le` the second, `be` the first, None neither.

    Text in Latin letters has a NUL in nearly every pair; 70 % on one side and under 5 % on the other decide.
    """
    pairs = len(head) // 2
    if pairs < 2:
        return None
    first, second = head[0 : 2 * pairs : 2].count(0) / pairs, head[1 : 2 * pairs : 2].count(0) / pairs
    if second > 0.7 and first < 0.05:
        return "le"
    return "be" if first > 0.7 and second < 0.05 else None
