"""One file per verb: parse, call the flow, print."""
