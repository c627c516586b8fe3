"""What the texts of torchstone tell people to type."""

from __future__ import annotations

import re
from pathlib import Path

import torchstone
from torchstone.cli import new, train


def test_an_advice_names_no_option_that_no_verb_has() -> None:
    known = {spelling for verb in (new, train) for option in verb.command.params for spelling in option.opts}
    flows = Path(torchstone.__file__).parent / "flows"
    texts = [path.read_text(encoding="utf-8") for path in flows.glob("*.py")]
    told = {word for text in texts for word in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)}
    told -= {"--porcelain", "--nproc-per-node"}  # git's, torchrun's
    assert told
    assert told <= known
