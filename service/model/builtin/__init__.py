"""The built-in model: where its checkpoint lies. Nothing here imports torch."""

from pathlib import Path
from typing import Final

CHECKPOINT: Final[Path] = Path(__file__).resolve().parent / "checkpoint"
"""Folder with the files of a released checkpoint: weights, config, tokenizer, sentence-transformers files."""

__all__ = ["CHECKPOINT"]
