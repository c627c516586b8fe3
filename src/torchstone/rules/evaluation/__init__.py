"""Rules that look at an evaluation."""
