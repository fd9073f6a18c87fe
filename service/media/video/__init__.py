"""Videos: lists of frames, files, and the pairs of frames that are encoded."""
