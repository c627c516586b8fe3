"""Rules that look at the data that a watched loop is fed with."""
