"""torchstone tells whether data, a training run and a model are what they seem."""
