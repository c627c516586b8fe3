"""Number formats of forward and backward."""
