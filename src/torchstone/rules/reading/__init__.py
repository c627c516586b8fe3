"""Rules about what the reader saw; the subject is a `ReadReport`."""
