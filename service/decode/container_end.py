"""Whether a WebM or MP4 file ends inside one of its own parts. Runs in a worker's process.

FFmpeg takes a cut file for a short one. Both containers put a length in front of what they hold, but for what was
written as a stream: a segment or cluster of WebM may say that its length is not known, as browsers' recorders do it.
Then it lasts as long as whole elements come. So a recording is read to its end, and one that is cut inside a block is
refused. Cut between two blocks of such a stream, or two fragments of an MP4, it cannot be told from a whole one.

Source: RFC 8794 sections 5 and 6, RFC 9559 section 5; ISO/IEC 14496-12 section 4.2.
"""

from service.media.container import Container

_SEGMENT, _CLUSTER = 0x18538067, 0x1F43B675
_OPENED = frozenset((_SEGMENT, _CLUSTER))
"""Elements that may have no length: what they hold is walked over as if it stood beside them."""
_MAX_PARTS = 1 << 18
"""Elements or boxes that are walked over: as many as a video may have packets."""
_MAX_NUMBER_BYTES = 8
_BOX_HEAD_BYTES, _LARGE_BOX_HEAD_BYTES = 8, 16


def ends_inside(encoded: bytes, container: Container) -> bool:
    """Whether the file's last element or box is not all there.

    Args:
        encoded: the bytes of the file.
        container: its format.
    """
    return _webm_ends_inside(encoded) if container == "webm" else _mp4_ends_inside(encoded)


def _webm_ends_inside(encoded: bytes) -> bool:
    place = 0
    for _ in range(_MAX_PARTS):
        if place >= len(encoded):
            break
        name, behind_name = _number(encoded, place, keeps_mark=True)
        num_bytes, start = _number(encoded, behind_name)
        stop = start + (num_bytes or 0)
        if stop > len(encoded):
            return True
        if name == _SEGMENT and num_bytes is not None:  # all of it is there; what comes behind it is not looked at
            break
        if num_bytes is None and name not in _OPENED:  # damage, which is for the decoder to judge
            break
        place = stop
    return False


def _number(encoded: bytes, place: int, *, keeps_mark: bool = False) -> tuple[int | None, int]:
    """A number of EBML's and where it ends; None where it says that it is not known, or is no number."""
    first = encoded[place] if place < len(encoded) else 0xFF
    length = 9 - first.bit_length()
    value = int.from_bytes(encoded[place : place + length], "big")
    bits = value & (1 << 7 * length) - 1
    if length > _MAX_NUMBER_BYTES or (bits == (1 << 7 * length) - 1 and not keeps_mark):
        return None, place + length
    return (value if keeps_mark else bits), place + length


def _mp4_ends_inside(encoded: bytes) -> bool:
    """Of a file in fragments alone: any other says how many packets it has."""
    place, has_fragments = 0, False
    for _ in range(_MAX_PARTS):
        if place >= len(encoded):
            break
        num_bytes = int.from_bytes(encoded[place : place + 4], "big")
        has_fragments |= encoded[place + 4 : place + _BOX_HEAD_BYTES] == b"moof"
        if num_bytes == 0:  # up to the end of the file
            return False
        if num_bytes == 1:
            num_bytes = int.from_bytes(encoded[place + _BOX_HEAD_BYTES : place + _LARGE_BOX_HEAD_BYTES], "big")
        place += max(num_bytes, _BOX_HEAD_BYTES)
    return has_fragments and place > len(encoded)
