"""Rows of one length side by side, each cut out when it is asked for: a batch is sent in one piece."""

from collections.abc import Mapping, Sequence
from typing import overload

from cenote_kernels.fused_epilogue import Row


class WholeRows(Sequence[Row]):
    """The rows of requests that want the same of one vector, and all have it.

    Args:
        whole: their bytes one after the other, by number format.
        num_rows: at least 1.

    Attributes:
        whole: as given.
    """

    def __init__(self, whole: Mapping[str, memoryview], num_rows: int) -> None:
        self.whole = whole
        self._num_rows = num_rows

    def __len__(self) -> int:
        return self._num_rows

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(self._num_rows))]
        place = range(self._num_rows)[index]
        return {
            dtype: whole[place * (size := len(whole) // self._num_rows) : (place + 1) * size]
            for dtype, whole in self.whole.items()
        }
