"""`python -m torchstone` is `torchstone`; an interrupt while the program is being loaded is answered, too."""

from __future__ import annotations

import sys

from torchstone.cli.interrupt import interrupted


def main() -> int:
    """Loads the program and runs one verb; returns the exit code."""
    try:
        from torchstone.cli.main import main as door

        return door()
    except KeyboardInterrupt:
        return interrupted(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
