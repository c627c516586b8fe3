"""What the texts of torchstone tell people to type."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import torchstone
from torchstone.cli.main import VERBS


def test_an_advice_names_no_option_that_no_verb_has() -> None:
    verbs = [importlib.import_module(f"torchstone.cli.{verb}").command for verb in VERBS]
    known = {spelling for verb in verbs for option in verb.params for spelling in option.opts}
    flows = Path(torchstone.__file__).parent / "flows"
    texts = [path.read_text(encoding="utf-8") for path in flows.glob("*.py")]
    told = {word for text in texts for word in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)}
    told -= {"--porcelain", "--nproc-per-node", "--standalone", "--query-gpu", "--format"}  # git, torchrun, nvidia-smi
    told -= {"--data"}  # of an ejected script
    assert told
    assert told <= known
