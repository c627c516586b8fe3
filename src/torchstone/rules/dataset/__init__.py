"""Rules that look at a dataset."""
