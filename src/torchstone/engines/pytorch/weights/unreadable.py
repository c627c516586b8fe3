"""Why a file of weights cannot be read, in words of what lies there and not of the reader that gave up."""

from __future__ import annotations

import re
from pathlib import Path

from torchstone.core.errors import StoneError

SAVE = "save the state dict with safetensors.torch.save_file"
AGAIN = "bring the file here again, and compare its size with that of the original"
_LARGEST_HEADER = 100_000_000  # bytes, as safetensors 0.5 and later allow
# Of a zip archive (torch.save since 1.6), and of a pickle from protocol 2 on (before that).
_ZIP, _PICKLE = b"PK\x03\x04", b"\x80"


def unreadable(path: Path, error: Exception) -> StoneError:
    """The error for a file that its reader refused: empty, a pointer to another file, of another kind, cut off, or
    with more than tensors in it. It never says how to run what is in a file."""
    size = path.stat().st_size if path.is_file() else -1
    start = _first(path) if size > 0 else b""
    if size == 0:
        return _error("the file is empty", path, AGAIN)
    if start.startswith(b"version https://git-lfs"):
        return _error("this is a pointer of Git LFS, the file itself is not here", path, "git lfs pull")
    if type(error).__name__ == "UnpicklingError" and start.startswith((_ZIP, _PICKLE)):
        return _more_than_tensors(path, str(error))
    if size > 0 and not _is_of_its_kind(path, start):
        return _error(f"this is no file of weights, whatever its name says: it begins with {_shown(start)}", path, SAVE)
    if "header" in str(error) or "archive" in str(error) or isinstance(error, EOFError):
        return _error(f"the file is damaged or was cut off: {size:,} bytes are here", path, AGAIN)
    reason = (str(error) or type(error).__name__).splitlines()[0][:300]
    return _error(f"these weights cannot be read: {reason}", path, SAVE)


def _error(what: str, path: Path, fix: str) -> StoneError:
    return StoneError(what, where=str(path), fix=fix)


def _first(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(64)


def _is_of_its_kind(path: Path, start: bytes) -> bool:
    if path.suffix.lower() == ".safetensors":
        # eight bytes with the length of a JSON object, which follows; less than that can only be cut off
        return len(start) < 9 or (start[8:9] == b"{" and int.from_bytes(start[:8], "little") <= _LARGEST_HEADER)
    return start.startswith((_ZIP, _PICKLE))


def _shown(start: bytes) -> str:
    text = start[:24].decode("latin-1")
    return repr(text.split("\n")[0]) if text.isprintable() or "\n" in text else start[:8].hex(" ")


def _more_than_tensors(path: Path, said: str) -> StoneError:
    found = re.search(r"GLOBAL ([\w.]+)", said)
    name = f" ({found[1]})" if found else ""
    what = f"it is damaged, or holds more than tensors{name}, and what could run code is never read"
    fix = "where it was made, save model.state_dict() alone with safetensors.torch.save_file"
    return _error(f"these weights cannot be read: {what}", path, fix)
