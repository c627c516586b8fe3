"""Rules that look at the logged curves of a run, whoever logged them."""
