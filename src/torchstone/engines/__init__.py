"""The only rooms where a framework lives."""
