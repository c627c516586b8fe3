"""The pages about parts and rules say what the code says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", ["parts.md", "rules.md", "which-loss-and-optimizer.md"])
def test_the_page_is_up_to_date(name: str) -> None:
    spec = importlib.util.spec_from_file_location("make_pages", DOCS / "make_pages.py")
    assert spec is not None
    assert spec.loader is not None
    make_pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_pages)
    text = (DOCS / name).read_text(encoding="utf-8")
    assert text == make_pages.PAGES[name](), "make it anew: python docs/make_pages.py"
