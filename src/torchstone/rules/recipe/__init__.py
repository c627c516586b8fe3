"""Rules that look at a recipe and its plan."""
