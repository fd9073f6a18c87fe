"""Fair shares of what requests have in common: threads, decoders, shared memory, fetches, steps of the engine."""

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

Steps = Generator[None, None, T]
"""Work that yields wherever it may be paused, and returns its result."""
