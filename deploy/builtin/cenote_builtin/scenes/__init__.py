"""Drawn scenes, with captions and instructions, for training and scoring."""
