"""Rules that look at what a loss is given, and what a model answers."""
