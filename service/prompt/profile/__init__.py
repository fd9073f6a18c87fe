"""The differences between model families, as data read from a checkpoint's files."""
