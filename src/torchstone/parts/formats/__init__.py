"""One file per format of raw data."""
