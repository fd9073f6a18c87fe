"""Precomputed vision features: tensors, their files and their grids."""
