"""Metrics over whole sets, from arrays and counts."""
