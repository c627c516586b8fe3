"""Rules that look into a run for a review: each is the proof behind one question."""
