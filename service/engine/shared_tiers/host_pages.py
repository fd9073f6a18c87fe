"""Host memory for features that have left the device: pinned where the device is CUDA, in pages of one size.

Pages and not one allocation for each image: the allocator of pinned memory rounds up to powers of two and keeps what
is given back, so that a cap on what was asked for is no cap on what is taken. Memory is taken in chunks as it is
needed, and kept. All copies are on the current stream and none waits: a caller that uses several streams has to
order them.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

logger = logging.getLogger("cenote.engine")

PAGE_BYTES = 256 << 10
CHUNK_BYTES = 64 << 20
"""Taken from the system at once; a power of two, which the allocator does not round up."""


@dataclass(frozen=True, slots=True)
class StoredPages:
    """Where features stand, and what they were."""

    pages: tuple[int, ...]
    shape: torch.Size
    dtype: torch.dtype


class HostPages:
    """The `HostMemory` of an encoder cache of tensors.

    Attributes:
        max_bytes: what it takes at most: the cap, rounded down to whole chunks.
    """

    def __init__(self, max_bytes: int, device: torch.device, *, page_bytes: int = PAGE_BYTES) -> None:
        """Take at most `max_bytes` of host memory for features of `device`."""
        self._device = device
        self._page_bytes = page_bytes
        self._chunk_bytes = min(CHUNK_BYTES, 1 << max(0, max_bytes.bit_length() - 1)) if max_bytes else CHUNK_BYTES
        self._pages_per_chunk = self._chunk_bytes // page_bytes
        self._max_chunks = max_bytes // self._chunk_bytes if self._pages_per_chunk else 0
        self.max_bytes = self._max_chunks * self._chunk_bytes
        self._chunks: list[torch.Tensor] = []
        self._free: list[int] = []

    @property
    def num_taken_bytes(self) -> int:
        """Bytes that have been taken from the system."""
        return sum(chunk.nbytes for chunk in self._chunks)

    def num_bytes_of(self, num_bytes: int) -> int:
        """Number of bytes that features of `num_bytes` take: whole pages."""
        return self._num_pages(num_bytes) * self._page_bytes

    def store(self, features: torch.Tensor) -> StoredPages | None:
        """A copy of features; None where there is no memory for it."""
        num_pages = self._num_pages(features.nbytes)
        while len(self._free) < num_pages:
            if not self._grow():
                return None
        self._free, taken = self._free[: len(self._free) - num_pages], self._free[len(self._free) - num_pages :]
        stored = StoredPages(tuple(sorted(taken)), features.shape, features.dtype)
        source = features.contiguous().view(torch.uint8).reshape(-1)
        for start, view in self._stretches(stored.pages, features.nbytes):
            view.copy_(source[start : start + view.nbytes], non_blocking=True)
        return stored

    def load(self, stored: StoredPages) -> torch.Tensor:
        """A copy on the device of what `store` gave."""
        features = torch.empty(stored.shape, dtype=stored.dtype, device=self._device)
        target = features.view(torch.uint8).reshape(-1)
        for start, view in self._stretches(stored.pages, features.nbytes):
            target[start : start + view.nbytes].copy_(view, non_blocking=True)
        return features

    def free(self, stored: StoredPages) -> None:
        """Give pages back."""
        self._free += stored.pages

    def _num_pages(self, num_bytes: int) -> int:
        return -(-num_bytes // self._page_bytes)

    def _grow(self) -> bool:
        if len(self._chunks) == self._max_chunks:
            return False
        try:
            chunk = torch.empty(self._chunk_bytes, dtype=torch.uint8, pin_memory=self._device.type == "cuda")
        except (RuntimeError, MemoryError):
            logger.warning("no more host memory for the encoder cache: %d MiB are taken", self.num_taken_bytes >> 20)
            self._max_chunks = len(self._chunks)
            return False
        first = len(self._chunks) * self._pages_per_chunk
        self._chunks.append(chunk)
        self._free += reversed(range(first, first + self._pages_per_chunk))
        return True

    def _stretches(self, pages: Sequence[int], num_bytes: int) -> Iterator[tuple[int, torch.Tensor]]:
        """Pages that lie side by side as one piece each, with where it begins in the features."""
        done = index = 0
        while done < num_bytes:
            chunk, page = divmod(pages[index], self._pages_per_chunk)
            length = 1
            while index + length < len(pages) and pages[index + length] == pages[index] + length:
                length += 1
            length = min(length, self._pages_per_chunk - page)
            begin = page * self._page_bytes
            size = min(length * self._page_bytes, num_bytes - done)
            yield done, self._chunks[chunk][begin : begin + size]
            done += size
            index += length
