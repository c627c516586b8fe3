"""One batch through the real pipeline, before any training."""
