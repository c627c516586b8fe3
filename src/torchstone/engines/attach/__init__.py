"""The doctor in other people's loops: what happens there is written down as rows, and nothing is changed.

Each file wires one thing (optimizers, backward passes, loss functions, …) to a `Recorder`. The rows are what the
rules of `rules/protocol`, `rules/meaning`, `rules/feeding` and `rules/trace` judge; docs/watched-rows.md lists them.
"""
