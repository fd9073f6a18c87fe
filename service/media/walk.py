"""Walking over an image file of any of the five formats.

In: the bytes of a file, and its format. Out: its parts, or what there is too much of. Decodes nothing. No library sees
the file before: decoders allocate what a header asks for, some of them when they are opened.
"""

from collections.abc import Callable, Mapping

from service.media.bmp_parts import bmp_parts
from service.media.format import Format
from service.media.gif_parts import gif_parts
from service.media.jpeg_parts import jpeg_parts
from service.media.parts import Parts
from service.media.png_parts import png_parts
from service.media.webp_parts import webp_parts


def walk(encoded: bytes, kind: Format) -> Parts | None:
    """The parts of a file.

    Args:
        encoded: the bytes of the file.
        kind: its format.

    Returns:
        None when the file ends before its size or says something else there.

    Raises:
        TooManyPartsError: it has more of something than is accepted.
    """
    try:
        return _WALKS[kind](encoded)
    except IndexError:  # the file ends here
        return None


def needed_bytes(encoded: bytes, kind: Format) -> bytes:
    """The file without what no pixel depends on: comments, profiles, texts, thumbnails, fill bytes.

    So a decoder's parser sees no more than the walk has counted, and both see the same.

    Args:
        encoded: the bytes of the file.
        kind: its format.

    Raises:
        TooManyPartsError: as for `walk`.
        ValueError: the walk found nothing.
    """
    parts = walk(encoded, kind)
    if parts is None:
        raise ValueError
    if parts.needed == ((0, len(encoded)),):
        return encoded
    return b"".join(encoded[start:stop] for start, stop in parts.needed)


_WALKS: Mapping[Format, Callable[[bytes], Parts | None]] = {
    "PNG": png_parts,
    "JPEG": jpeg_parts,
    "WEBP": webp_parts,
    "GIF": gif_parts,
    "BMP": bmp_parts,
}
