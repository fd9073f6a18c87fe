"""The two content keys of an image, a pair of frames, an audio file, and features that came in an image's place.

Level 2 stands for the encoded file and how it will be read and resized: it is known before decoding, and a repeated
file needs neither decode nor resize. Level 1 stands for the pixels that the model sees: the same image in another
container hits.
Every part is preceded by its length, so that no two lists of parts run together into the same bytes.
Does not know what is stored under a key, nor where a tenant's salt comes from.
"""

import hashlib

from service.media.item import AS_REFERENCE, FRAMES_OF_PAIR, ITEM_BYTES, AudioRule, ImageReadOptions, Size, TensorDtype
from service.media.resize.image_rule import ImageRule

PREPROCESSING_VERSION = b"rgb8-pillow-bicubic-2"
"""Changes whenever the same file and rule would give other pixels. Old cache entries are then never met again."""

PAGE_VERSION = b"page-source-forms"
"""Likewise for pages of PDFs, which are drawn with the fields of forms."""

VIDEO_VERSION = b"rgb8-as-shown-1"
"""Likewise for frames of video files."""

AUDIO_VERSION = b"f32-mono-mean-swr-1"
"""Likewise for samples."""


def file_digest(encoded: bytes) -> bytes:
    """Identity of a file: SHA-256 over the encoded bytes, 32 bytes. A client's name for it is bound to this."""
    return _digest(b"file", encoded)


def source_digest(
    file: bytes, rule: ImageRule, options: ImageReadOptions = AS_REFERENCE, *, tenant_salt: bytes = b""
) -> bytes:
    """Level-2 key: SHA-256 over salt, preprocessing version, the rule's numbers, how the file is read, and the file.

    Args:
        rule: the resize rule; the same file under another rule is another image.
        options: background and orientation; the same holds.

    Source: docs/notes/security.md.
    """
    return _digest(b"source", tenant_salt, PREPROCESSING_VERSION, *rule.key_parts, options.key_part, file)


def page_digest(file: bytes, page: int, raster_size: Size, rule: ImageRule, *, tenant_salt: bytes = b"") -> bytes:
    """Level-2 key of a page of a PDF: SHA-256 over salt, version, the rule's numbers, page, rendered size and the file.

    Args:
        page: counted from 1.
        raster_size: height and width that the page is rendered at, pixels.
    """
    return _digest(PAGE_VERSION, tenant_salt, PREPROCESSING_VERSION, *rule.key_parts, page, *raster_size, file)


def content_key(pixels: bytes | memoryview, size: Size, fingerprint: bytes, *, tenant_salt: bytes = b"") -> bytes:
    """Level-1 key: SHA-256 over salt, model fingerprint, preprocessing version, height, width and RGB bytes.

    Args:
        pixels: resized RGB, uint8 [height, width, 3], C order.
    """
    height, width = size
    if len(pixels) != height * width * 3:
        raise ValueError(f"{len(pixels)} bytes of pixels do not make {height} x {width} RGB")
    return _digest(b"content", tenant_salt, fingerprint, PREPROCESSING_VERSION, height, width, pixels)


def frame_digest(
    file: bytes, first_size: Size, size: Size, options: ImageReadOptions = AS_REFERENCE, *, tenant_salt: bytes = b""
) -> bytes:
    """Level-2 key of a video's frame that came as an image file: SHA-256 as `source_digest`, with its two sizes.

    Args:
        first_size: height and width that it is resized to at first.
        size: height and width at which the model sees it.
    """
    return _digest(b"frame-source", tenant_salt, PREPROCESSING_VERSION, *first_size, *size, options.key_part, file)


def pair_digest(first: bytes, second: bytes) -> bytes:
    """Level-2 key of a pair of frames: SHA-256 over theirs, which hold the salt, 32 bytes."""
    return _digest(b"pair-source", first, second)


def video_pair_digest(file: bytes, frames: tuple[int, ...], size: Size, *, tenant_salt: bytes = b"") -> bytes:
    """Level-2 key of frames of a video file: SHA-256 over salt, version, their numbers, their size and the file.

    Args:
        frames: which two, or which one, counted from 0.
        size: height and width at which the model sees them.
    """
    return _digest(b"clip-pair-source", tenant_salt, VIDEO_VERSION, *frames, *size, file)


def pair_key(
    pixels: memoryview, size: Size, fingerprint: bytes, *, tenant_salt: bytes = b"", num_frames: int = FRAMES_OF_PAIR
) -> bytes:
    """Level-1 key of a pair of frames, or of one: SHA-256 as `content_key`, over the frames' bytes.

    Args:
        size: height and width of each.
        num_frames: two, or one.
    """
    height, width = size
    if pixels.nbytes != num_frames * height * width * 3:
        frames = "two frames" if num_frames == FRAMES_OF_PAIR else "a frame"
        raise ValueError(f"{pixels.nbytes} bytes of pixels do not make {frames} of {height} x {width} RGB")
    return _digest(b"pair", tenant_salt, fingerprint, PREPROCESSING_VERSION, height, width, pixels)


def audio_digest(file: bytes, rule: AudioRule, *, tenant_salt: bytes = b"") -> bytes:
    """Level-2 key of an audio file: SHA-256 over salt, version, the rule's numbers and the file, 32 bytes."""
    return _digest(b"sound-source", tenant_salt, AUDIO_VERSION, *rule.key_parts, file)


def audio_key(samples: memoryview, rule: AudioRule, fingerprint: bytes, *, tenant_salt: bytes = b"") -> bytes:
    """Level-1 key of an audio file: SHA-256 over salt, model fingerprint, version, the rule's numbers and the samples.

    Args:
        samples: bytes of float32, one channel.
    """
    return _digest(b"sound", tenant_salt, fingerprint, AUDIO_VERSION, *rule.key_parts, samples)


def features_digest(data: memoryview, dtype: TensorDtype, grid_thw: tuple[int, int, int], width: int) -> bytes:
    """Identity of features: SHA-256 over number format, grid, rows, width and the bytes, 32 bytes.

    Args:
        data: the rows, little-endian.
        dtype: their number format: the same bytes in another are other features.
        grid_thw: the image's patches: the same rows on another grid have other positions.

    Source: docs/notes/security.md.
    """
    num_rows = len(data) // (width * ITEM_BYTES[dtype])
    return _digest(b"features-source", dtype.encode(), *grid_thw, num_rows, width, data)


def features_source_digest(features: bytes, *, tenant_salt: bytes = b"") -> bytes:
    """Level-2 key of features: SHA-256 over salt and what `features_digest` gave, 32 bytes."""
    return _digest(b"features-of-tenant", tenant_salt, features)


def features_key(digest: bytes, fingerprint: bytes, *, tenant_salt: bytes = b"") -> bytes:
    """Level-1 key of features: SHA-256 over salt, model fingerprint and level-2 key.

    The level-2 key, by `features_digest`, stands for all the rest: megabytes are hashed once and not twice.
    """
    return _digest(b"features", tenant_salt, fingerprint, digest)


def features_origin(fingerprint: bytes) -> str:
    """Name of the model and preprocessing in a file of features: 32 hexadecimal digits."""
    return _digest(b"features-origin", PREPROCESSING_VERSION, fingerprint).hex()[:32]


def _digest(*parts: bytes | memoryview | int) -> bytes:
    """SHA-256 over parts, each after its length in bytes; a number has eight."""
    digest = hashlib.sha256()
    for part in parts:
        data = memoryview(part.to_bytes(8, "little") if isinstance(part, int) else part)
        digest.update(data.nbytes.to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()
