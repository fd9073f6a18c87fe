"""The index arrays of `service.model.segments` on the device, and the two moves that they are for."""

from dataclasses import dataclass

import numpy as np
import torch

from service.model.segments import Group, Index, Segments


@dataclass(frozen=True, slots=True)
class Placement:
    """Between rows, where a shared token is computed once, and places, where each prompt stands whole.

    Attributes:
        groups: prompts of one length, in attention's order.
        row_of_place: `[num_places]`, or None where rows and places are the same.
        place_of_row: `[num_rows]`, the place whose result each row takes.
    """

    groups: tuple[Group, ...]
    row_of_place: torch.Tensor | None
    place_of_row: torch.Tensor | None

    def unfold(self, rows: torch.Tensor) -> torch.Tensor:
        """Rows to places; the same memory where nothing is shared."""
        return rows if self.row_of_place is None else rows.index_select(0, self.row_of_place)

    def fold(self, places: torch.Tensor) -> torch.Tensor:
        """Places to rows; the same memory where nothing is shared."""
        return places if self.place_of_row is None else places.index_select(0, self.place_of_row)


def place(segments: Segments, device: torch.device) -> Placement:
    """A plan of the host on a device."""
    return Placement(segments.groups, _move(segments.unfold, device), _move(segments.fold, device))


def _move(index: Index | None, device: torch.device) -> torch.Tensor | None:
    return None if index is None else torch.from_numpy(np.ascontiguousarray(index)).to(device)
