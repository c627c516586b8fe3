"""Ways to divide examples into train, validation and test."""
