"""Rules that look at the numbers of a watched training loop."""
