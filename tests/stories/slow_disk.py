"""`torchstone` on a disk that takes two seconds for each checkpoint; started by torchrun."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from torchstone.cli.main import main
from torchstone.engines.pytorch import checkpoint

write = checkpoint.write


def write_slowly(content: checkpoint.Content, folder: Path) -> None:
    """The real writer, late."""
    time.sleep(2)
    write(content, folder)


if __name__ == "__main__":
    checkpoint.write = write_slowly
    sys.exit(main())
