"""The files of a checkpoint, read without torch: where they are, what they say, and what they lack."""
