"""Losses: each returns (sum, weight)."""
