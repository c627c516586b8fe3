"""Rules that look at the trace of a run."""
