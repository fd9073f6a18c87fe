"""A video's frames that came as picture files: their sizes chosen together, and paired.

In: encoded bytes. Out: `FramePair`s. Does not decode, and does not know which frames were left out before.
"""

from collections.abc import Sequence

from service.media.blame import Blame
from service.media.frame_pair import FramePair
from service.media.framing import Framing
from service.media.header import DecodeLimits, Header
from service.media.item import MediaItem, open_header
from service.media.key import file_digest, frame_digest
from service.media.picture import Patches, Size
from service.media.reading import AS_REFERENCE, Reading
from service.media.resize import fit
from service.media.video_rule import VideoRule

BICUBIC = 3
"""Pillow's number of the filter of the first resize."""


def open_frames(
    encoded: Sequence[bytes],
    blames: Sequence[Blame],
    limits: DecodeLimits,
    rule: VideoRule,
    *,
    reading: Reading = AS_REFERENCE,
    salt: bytes = b"",
) -> tuple[FramePair, ...]:
    """Check the frames' headers, choose their size and pair them; the last of an odd number is taken twice.

    Args:
        encoded: the bytes of each frame's file, at least one.
        blames: their places, for errors.
        limits: what is refused.
        rule: the sizes.
        reading: background and orientation.
        salt: keeps tenants apart; empty where all share.

    Raises:
        MediaError: `media_too_large`, `media_undecodable`, or `invalid_request` for frames of different sizes.

    Source: qwen-vl-utils 0.0.14, `fetch_video`, a list of frames.
    """
    headers = [
        open_header(one, limits, reading, param=blame.param, index=blame.index)
        for one, blame in zip(encoded, blames, strict=True)
    ]
    first_size = fit(*headers[0].upright_size, rule.first, param=blames[0].param, index=blames[0].index)
    for header, blame in zip(headers, blames, strict=True):
        _check_alike(header, headers[0], first_size, rule, blame)
    num_seen = len(encoded) + len(encoded) % 2
    size = rule.frame_size(*first_size, num_seen)
    if 0 in size:
        _refuse_shape(headers[0], blames[0])
    frames = [
        _frame(one, header, Framing(first_size, BICUBIC, is_antialiased=True), size, rule.patches, reading, salt, blame)
        for one, header, blame in zip(encoded, headers, blames, strict=True)
    ]
    frames += frames[-1:] * (num_seen - len(frames))
    return tuple(FramePair.of(first, second) for first, second in zip(frames[::2], frames[1::2], strict=True))


def _frame(
    encoded: bytes,
    header: Header,
    framing: Framing,
    size: Size,
    patches: Patches,
    reading: Reading,
    salt: bytes,
    blame: Blame,
) -> MediaItem:
    return MediaItem(
        encoded=encoded,
        header=header,
        identity=(identity := file_digest(encoded)),
        digest=frame_digest(identity, framing.resized, size, reading, tenant_salt=salt),
        size=size,
        grid_thw=patches.grid_thw(*size),
        reading=reading,
        salt=salt,
        param=blame.param,
        index=blame.index,
        patches=patches,
        framing=framing,
    )


def _check_alike(header: Header, first: Header, first_size: Size, rule: VideoRule, blame: Blame) -> None:
    """The reference stacks frames after its first resize: sizes that come to the same there are alike."""
    if fit(*header.upright_size, rule.first, param=blame.param, index=blame.index) != first_size:
        blame.refuse(
            "invalid_request",
            f"The frame is {header.width} x {header.height} pixels, and the first one of its video is "
            f"{first.width} x {first.height}; frames of one video have one size.",
        )


def _refuse_shape(header: Header, blame: Blame) -> None:
    blame.refuse(
        "media_too_large",
        f"The frame is {header.width} x {header.height} pixels: so extreme a shape would leave it a side shorter than "
        "one visual token.",
    )
