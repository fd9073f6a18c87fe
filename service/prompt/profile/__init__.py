"""The differences between model families, as data from a checkpoint's files. Wrong files are a `CheckpointError`."""
