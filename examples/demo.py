"""A folder of pictures becomes a model that was judged, and a page about it: what a newcomer would type, in order.

The pictures are scikit-learn's 1,797 handwritten digits of 8 x 8 pixels, written out as one folder per class.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from PIL import Image
from sklearn.datasets import load_digits

PROJECT = Path(__file__).resolve().parents[1] / "demo"


def write_digits(folder: Path) -> int:
    """Writes the digits as `folder/CLASS/NUMBER.png` unless they are there; returns how many there are."""
    digits = load_digits()
    for number, (picture, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        path = folder / str(label) / f"{number:04}.png"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray((picture * 15.9375).astype("uint8")).save(path)
    return len(digits.target)


def torchstone(*words: str) -> None:
    """Types one command, shows it, and ends the demo where it fails."""
    print(f"\n$ torchstone {' '.join(words)}", flush=True)
    done = subprocess.run([sys.executable, "-m", "torchstone", *words], cwd=PROJECT, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def main() -> None:
    """The whole way, in a minute or two on a laptop's CPU."""
    num = write_digits(PROJECT / "digits")
    print(f"{num:,} pictures in {PROJECT / 'digits'}, one folder per class")
    torchstone("new", "digits", "--force")
    torchstone("plan")
    torchstone("train")
    torchstone("evaluate")
    torchstone("report")
    newest = max((PROJECT / ".torchstone" / "runs").iterdir(), key=lambda run: run.stat().st_mtime)
    print(f"\nOpen {newest / 'report.html'} in a browser; the recipe is {PROJECT / 'torchstone.yaml'}.")


if __name__ == "__main__":
    main()
