"""Where a value that is not finite came from, found after a step has failed."""
