"""One file per verb: reads, calls, writes."""
