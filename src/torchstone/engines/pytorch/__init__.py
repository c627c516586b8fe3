"""The PyTorch engine; start reading at loop.py."""
