"""The pixels of a picture that came as a file, at the size at which the model sees it.

In: a `MediaItem`, or its parts. Out: uint8 pixels. Runs in a thread of the front or in a
decoder's process.
"""

import numpy as np
from numpy.typing import NDArray

from service.media.blame import Blame
from service.media.decode import decode_rgb
from service.media.framing import Framing, frame
from service.media.header import Header
from service.media.item import MediaItem
from service.media.reading import Reading
from service.media.resize import Size, resize


def load_pixels(item: MediaItem) -> NDArray[np.uint8]:
    """Decode and resize a picture.

    Args:
        item: the picture.

    Returns:
        Pixels, uint8 [height, width, 3].

    Raises:
        MediaError: `media_undecodable`.
    """
    blame = Blame(item.param, item.index)
    return render(item.encoded, item.header, item.reading, item.size, blame, framing=item.framing)


def render(
    encoded: bytes,
    header: Header,
    reading: Reading,
    size: Size,
    blame: Blame | None = None,
    *,
    framing: Framing | None = None,
) -> NDArray[np.uint8]:
    """The same for parts that have crossed a socket.

    Args:
        encoded: the bytes of a picture file.
        header: what `read_header` found in these bytes, with the orientation to apply.
        reading: its background.
        size: height and width of the pixels.
        blame: what errors name.
        framing: how the pixels are made; None for a plain resize.

    Returns:
        Pixels, uint8 [height, width, 3], C order.

    Raises:
        MediaError: `media_undecodable`.

    Source: reference/qwen3-vl-embedding.md sections 3.1, 3.2 and 4.
    """
    blame = blame or Blame()
    picture = decode_rgb(encoded, header, background=reading.background, param=blame.param, index=blame.index)
    return np.ascontiguousarray(resize(picture, size) if framing is None else frame(picture, framing, size))
