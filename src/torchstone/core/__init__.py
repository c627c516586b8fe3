"""The nouns: what every other room speaks of."""
