"""Where batches come from, one file per modality."""
