"""Weights from outside: read from local files, renamed, fitted to a model, and reported tensor by tensor."""
