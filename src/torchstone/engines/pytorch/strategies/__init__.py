"""How the loop meets processes."""
