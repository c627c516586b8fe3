"""Checklists that come with torchstone: lists of rule codes and questions, as one writes one's own."""
