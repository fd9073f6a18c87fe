"""The files of a checkpoint, read without torch: where they are, what they say, and what they lack.

Whatever is missing, damaged, of another shape, or asks for what is not supported is a `CheckpointError` that names file
and key; docstrings say so where more is refused than the reader's first sentence tells.
"""
