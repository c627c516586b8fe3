"""Pure building pieces, one per file; numpy at most."""
