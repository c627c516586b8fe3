"""Rules that look at the order and the wiring of a watched training loop."""
