"""What the plan chooses, one subject per file, each value with reason and source."""
