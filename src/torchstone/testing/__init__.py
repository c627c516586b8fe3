"""Conformance checks for parts and rules, ours and others'."""
