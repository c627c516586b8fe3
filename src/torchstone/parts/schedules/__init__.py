"""Learning-rate multipliers by optimizer step."""
