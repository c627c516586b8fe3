"""Judges, one rule per file."""
