"""A video's frames that came as image files: their sizes chosen together, and paired.

In: encoded bytes. Out: `FramePair`s. Does not decode, and does not know which frames were left out before.
"""

from collections.abc import Sequence
from typing import NoReturn

from service.media.error_location import ErrorLocation
from service.media.image.header import DecodeLimits, Header, read_header
from service.media.image.image_file import ImageFile
from service.media.item import AS_REFERENCE, ImageReadOptions
from service.media.key import file_digest, frame_digest
from service.media.resize.resize import Framing
from service.media.video.frame_pair import FrameFile, FramePair
from service.media.video.video_rule import VideoRule


def open_frames(
    encoded: Sequence[bytes],
    locations: Sequence[ErrorLocation],
    limits: DecodeLimits,
    rule: VideoRule,
    *,
    options: ImageReadOptions = AS_REFERENCE,
    salt: bytes = b"",
    are_of_file: bool = False,
) -> tuple[FramePair | ImageFile, ...]:
    """Check the frames' headers, choose their size and, by the rule, pair them; the last of an odd number is repeated.

    Args:
        are_of_file: frames that were taken out of a file: they have a file's sizes, and no resize before.

    Source: qwen-vl-utils 0.0.14, `fetch_video`, a list of frames.
    """
    headers = [
        read_header(one, limits, location, upright=options.upright)
        for one, location in zip(encoded, locations, strict=True)
    ]
    first_sizes = [
        header.upright_size if are_of_file else rule.first_size(*header.upright_size, location)
        for header, location in zip(headers, locations, strict=True)
    ]
    first_size = first_sizes[0]
    for header, other_size, location in zip(headers, first_sizes, locations, strict=True):
        if other_size != first_size:
            _refuse_other(header, headers[0], location)
    num_seen = len(encoded) + len(encoded) % rule.frames_of_item
    size = rule.frame_size(*first_size, num_seen, of_file=are_of_file)
    if 0 in size:
        locations[0].refuse(
            "media_too_large",
            f"The frame is {headers[0].width} x {headers[0].height} pixels: so extreme a shape would leave it a side "
            "shorter than one visual token.",
        )
    framing = Framing((first_size,), is_antialiased=True) if rule.is_antialiased else Framing((size,))
    grid_thw = rule.patches.grid_thw(*size)
    identities = [file_digest(one) for one in encoded]
    frame = FrameFile if rule.frames_of_item == 1 else ImageFile
    frames = [
        frame(
            encoded=one,
            header=header,
            identity=identity,
            digest=frame_digest(identity, first_size, size, options, tenant_salt=salt),
            size=size,
            grid_thw=grid_thw,
            num_tokens=rule.patches.num_tokens(grid_thw),
            framing=framing,
            options=options,
            salt=salt,
            location=location,
        )
        for one, header, identity, location in zip(encoded, headers, identities, locations, strict=True)
    ]
    if rule.frames_of_item == 1:
        return tuple(frames)
    frames += frames[-1:] * (num_seen - len(frames))
    return tuple(FramePair.of(first, second) for first, second in zip(frames[::2], frames[1::2], strict=True))


def _refuse_other(header: Header, first: Header, location: ErrorLocation) -> NoReturn:
    """The reference stacks frames after its first resize: sizes that come to the same there are alike."""
    location.refuse(
        "invalid_request",
        f"The frame is {header.width} x {header.height} pixels, and the first one of its video is "
        f"{first.width} x {first.height}; frames of one video have one size.",
    )
