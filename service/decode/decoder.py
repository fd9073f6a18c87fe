"""What decodes a picture for the front, and what it says when that takes too long."""

from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from service.media.blame import Blame
from service.media.item import MediaItem


class Decoder(Protocol):
    """Pixels of pictures, within a budget and a deadline."""

    async def pixels(self, item: MediaItem) -> NDArray[np.uint8]:
        """Decode and resize a picture.

        Args:
            item: the picture.

        Returns:
            Its pixels, `item.num_slot_bytes` bytes of RGB, in memory of their own.

        Raises:
            MediaError: `media_undecodable`, also for a picture over which time ran out or a process died.
        """
        ...


def refuse_overdue(item: MediaItem, deadline_s: float) -> NoReturn:
    """Raise the error of a picture that is not decoded in time.

    Args:
        item: the picture.
        deadline_s: how long a decode may take.

    Raises:
        MediaError: always.
    """
    message = f"The image cannot be decoded within {deadline_s:g} s."
    Blame(item.param, item.index).refuse("media_undecodable", message)
