"""Precomputed vision features: tensors, their files and their grids. A fault of theirs is `invalid_image_embeds`."""
