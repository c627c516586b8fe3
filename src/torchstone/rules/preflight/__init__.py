"""Rules about the first batch, before a run; each judges the rows that a preflight measures."""
