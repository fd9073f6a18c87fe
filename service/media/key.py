"""The two content keys of a picture, a pair of frames, a sound, and features that came in a picture's place.

Level 2 stands for the encoded file and how it will be read and resized: it is known before decoding, and a repeated
file needs neither decode nor resize. Level 1 stands for the pixels that the model sees: the same picture in another
container hits.
Every part is preceded by its length, so that no two lists of parts run together into the same bytes.
Does not know what is stored under a key, nor where a tenant's salt comes from.
"""

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from service.media.picture import Size
from service.media.picture_rule import PictureRule
from service.media.reading import AS_REFERENCE, Reading
from service.media.sound_rule import SoundRule
from service.media.tensor_dtype import ITEM_BYTES, TensorDtype

PREPROCESSING_VERSION = b"rgb8-pillow-bicubic-2"
"""Changes whenever the same file and rule would give other pixels. Old cache entries are then never met again."""

SOUND_VERSION = b"f32-mono-mean-swr-1"
"""Likewise, of samples."""


def file_digest(encoded: bytes) -> bytes:
    """What a client's name for a picture is bound to: SHA-256 over the encoded bytes, 32 bytes.

    Args:
        encoded: the bytes of a picture file.
    """
    return _digest((b"file", encoded))


def source_digest(
    file: bytes, rule: PictureRule, reading: Reading = AS_REFERENCE, *, tenant_salt: bytes = b""
) -> bytes:
    """Level-2 key: SHA-256 over salt, preprocessing version, the rule's numbers, how the file is read, and the file.

    Args:
        file: what `file_digest` gave; it stands for the bytes, so that megabytes are hashed once and not twice.
        rule: the resize rule; the same file under another rule is another picture.
        reading: background and orientation; the same holds.
        tenant_salt: keeps tenants apart; empty where all share.

    Returns:
        32 bytes.

    Source: reference/security-reliability.md section 2 (dimension-blind and option-blind keys), DESIGN.md section 5.
    """
    parts = (tenant_salt, PREPROCESSING_VERSION, *rule.key_parts, reading.key_part, file)
    return _digest((b"source", *parts))


def content_key(
    pixels: NDArray[np.uint8] | bytes | memoryview, size: Size, fingerprint: bytes, *, tenant_salt: bytes = b""
) -> bytes:
    """Level-1 key: SHA-256 over salt, model fingerprint, preprocessing version, height, width and RGB bytes.

    Args:
        pixels: resized RGB, uint8 [height, width, 3], C order.
        size: height and width.
        fingerprint: identifies model, revision and the dtype of its vision tower.
        tenant_salt: keeps tenants apart; empty where all share.

    Returns:
        32 bytes.

    Source: DESIGN.md section 5, reference/qwen3-vl-embedding.md section 9.
    """
    height, width = size
    data = np.ascontiguousarray(pixels).data.cast("B") if isinstance(pixels, np.ndarray) else memoryview(pixels)
    if data.nbytes != height * width * 3:
        raise ValueError(f"{data.nbytes} bytes of pixels do not make {height} x {width} RGB")
    return _digest((b"content", tenant_salt, fingerprint, PREPROCESSING_VERSION, _number(height), _number(width), data))


def frame_digest(
    file: bytes, first_size: Size, size: Size, reading: Reading = AS_REFERENCE, *, tenant_salt: bytes = b""
) -> bytes:
    """Level-2 key of a video's frame that came as a picture file: SHA-256 as `source_digest`, with its two sizes.

    Args:
        file: what `file_digest` gave.
        first_size: height and width that it is resized to at first.
        size: height and width at which the model sees it.
        reading: background and orientation.
        tenant_salt: keeps tenants apart; empty where all share.

    Returns:
        32 bytes.
    """
    sizes = map(_number, (*first_size, *size))
    return _digest((b"frame-source", tenant_salt, PREPROCESSING_VERSION, *sizes, reading.key_part, file))


def pair_digest(first: bytes, second: bytes) -> bytes:
    """Level-2 key of a pair of frames: SHA-256 over theirs, which hold the salt, 32 bytes.

    Args:
        first: of the earlier frame.
        second: of the later one.
    """
    return _digest((b"pair-source", first, second))


def clip_pair_digest(file: bytes, frames: tuple[int, int], size: Size, *, tenant_salt: bytes = b"") -> bytes:
    """Level-2 key of two frames of a video file: SHA-256 over salt, version, their numbers, their size and the file.

    Args:
        file: what `file_digest` gave.
        frames: which two, counted from 0.
        size: height and width at which the model sees them.
        tenant_salt: keeps tenants apart; empty where all share.

    Returns:
        32 bytes.
    """
    numbers = map(_number, (*frames, *size))
    return _digest((b"clip-pair-source", tenant_salt, PREPROCESSING_VERSION, *numbers, file))


def pair_key(pixels: memoryview, size: Size, fingerprint: bytes, *, tenant_salt: bytes = b"") -> bytes:
    """Level-1 key of a pair of frames: SHA-256 as `content_key`, over both frames' bytes.

    Args:
        pixels: resized RGB of the earlier frame, then of the later one.
        size: height and width of each.
        fingerprint: identifies model, revision and the dtype of its vision tower.
        tenant_salt: keeps tenants apart; empty where all share.

    Returns:
        32 bytes.
    """
    height, width = size
    if pixels.nbytes != 2 * height * width * 3:
        raise ValueError(f"{pixels.nbytes} bytes of pixels do not make two frames of {height} x {width} RGB")
    sizes = map(_number, size)
    return _digest((b"pair", tenant_salt, fingerprint, PREPROCESSING_VERSION, *sizes, pixels))


def sound_digest(file: bytes, rule: SoundRule, *, tenant_salt: bytes = b"") -> bytes:
    """Level-2 key of a sound: SHA-256 over salt, version, the rule's numbers and the file, 32 bytes.

    Args:
        file: what `file_digest` gave.
        rule: at which rate it is heard, and how much of it.
        tenant_salt: keeps tenants apart; empty where all share.
    """
    return _digest((b"sound-source", tenant_salt, SOUND_VERSION, *rule.key_parts, file))


def sound_key(samples: memoryview, rule: SoundRule, fingerprint: bytes, *, tenant_salt: bytes = b"") -> bytes:
    """Level-1 key of a sound: SHA-256 over salt, model fingerprint, version, the rule's numbers and the samples.

    Args:
        samples: bytes of float32, one channel.
        rule: under which they were made.
        fingerprint: identifies model and revision.
        tenant_salt: keeps tenants apart; empty where all share.

    Returns:
        32 bytes.
    """
    return _digest((b"sound", tenant_salt, fingerprint, SOUND_VERSION, *rule.key_parts, samples))


def features_digest(data: memoryview, dtype: TensorDtype, grid_thw: tuple[int, int, int], width: int) -> bytes:
    """What a client's name for features is bound to: SHA-256 over number format, grid, rows, width and the bytes.

    Args:
        data: the rows, little-endian.
        dtype: their number format: the same bytes in another are other features.
        grid_thw: the picture's patches: the same rows on another grid have other positions.
        width: numbers of one row.

    Returns:
        32 bytes.

    Source: reference/security-reliability.md, "Cache and tenants", collisions.
    """
    num_rows = len(data) // (width * ITEM_BYTES[dtype])
    sizes = map(_number, (*grid_thw, num_rows, width))
    return _digest((b"features-source", dtype.encode(), *sizes, data))


def features_source_digest(features: bytes, *, tenant_salt: bytes = b"") -> bytes:
    """Level-2 key of features: SHA-256 over salt and what `features_digest` gave, 32 bytes.

    Args:
        features: stands for the numbers.
        tenant_salt: keeps tenants apart; empty where all share.
    """
    return _digest((b"features-of-tenant", tenant_salt, features))


def features_key(digest: bytes, fingerprint: bytes, *, tenant_salt: bytes = b"") -> bytes:
    """Level-1 key of features: SHA-256 over salt, model fingerprint and level-2 key.

    The level-2 key stands for all the rest, so that megabytes are hashed once and not twice.

    Args:
        digest: what `features_digest` gave.
        fingerprint: identifies model, revision and the dtype of its vision tower.
        tenant_salt: keeps tenants apart; empty where all share.

    Returns:
        32 bytes.
    """
    return _digest((b"features", tenant_salt, fingerprint, digest))


def features_origin(fingerprint: bytes) -> str:
    """What a file of features says of the model and preprocessing that made it: 32 hexadecimal digits.

    Args:
        fingerprint: identifies model and revision.
    """
    return _digest((b"features-origin", PREPROCESSING_VERSION, fingerprint)).hex()[:32]


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little")


def _digest(parts: Iterable[bytes | memoryview]) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(_number(part.nbytes if isinstance(part, memoryview) else len(part)))
        digest.update(part)
    return digest.digest()
