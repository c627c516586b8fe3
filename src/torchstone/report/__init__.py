"""Shows, never decides."""
