"""Averages of the weights along the run."""
