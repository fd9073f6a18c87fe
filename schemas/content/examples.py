"""Values for the examples of the document: small real files, and names."""

import base64

EXAMPLE_IMAGE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAALElEQVR42u3NQQEAQAQAMC6NCvp3kO"
    "dK8NsKLKc6Lr04JhAIBAKBQCAQCLZ8Sh8BdxedIcAAAAAASUVORK5CYII="
)
"""A red square of 32 × 32 pixels: small, and a real PNG."""

EXAMPLE_VIDEO = "data:video/jpeg;base64," + EXAMPLE_IMAGE.partition(",")[2]
"""One frame in the form that needs no video decoder. It is declared JPEG and is a PNG: only the bytes count."""

EXAMPLE_PDF = (
    "data:application/pdf;base64,"
    "JVBERi0xLjQKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZy9QYWdlcyAyIDAgUj4+IGVuZG9iagoyIDAgb2JqPDwvVHlwZS9QYWdlcy9LaWRzWzMg"
    "MCBSXS9Db3VudCAxPj4gZW5kb2JqCjMgMCBvYmo8PC9UeXBlL1BhZ2UvUGFyZW50IDIgMCBSL01lZGlhQm94WzAgMCAzMiAzMl0vQ29udGVu"
    "dHMgNCAwIFI+PiBlbmRvYmoKNCAwIG9iajw8L0xlbmd0aCAyMz4+c3RyZWFtCjEgMCAwIHJnIDggOCAxNiAxNiByZSBmCmVuZHN0cmVhbSBl"
    "bmRvYmoKeHJlZgowIDUKMDAwMDAwMDAwMCA2NTUzNSBmIAowMDAwMDAwMDA5IDAwMDAwIG4gCjAwMDAwMDAwNTMgMDAwMDAgbiAKMDAwMDAw"
    "MDEwMyAwMDAwMCBuIAowMDAwMDAwMTgwIDAwMDAwIG4gCnRyYWlsZXI8PC9Sb290IDEgMCBSL1NpemUgNT4+CnN0YXJ0eHJlZgoyNDkKJSVF"
    "T0YK"
)
"""A page of 32 × 32 points with a red square on it, and no text."""

_SAMPLES = bytes(2 * 160)
_HEADER = b"RIFF" + (36 + len(_SAMPLES)).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
_FORMAT = b"\x01\0\x01\0" + (16_000).to_bytes(4, "little") + (32_000).to_bytes(4, "little") + b"\x02\0\x10\0"

EXAMPLE_WAV = base64.b64encode(_HEADER + _FORMAT + b"data" + len(_SAMPLES).to_bytes(4, "little") + _SAMPLES).decode()
"""A hundredth of a second of silence."""

EXAMPLE_AUDIO = "data:audio/wav;base64," + EXAMPLE_WAV

_FEATURES_HEADER = b'{"image_embeds":{"dtype":"F16","shape":[1,768],"data_offsets":[0,1536]}}'

EXAMPLE_FEATURES = base64.b64encode(
    len(_FEATURES_HEADER).to_bytes(8, "little") + _FEATURES_HEADER + bytes(2 * 768)
).decode()
"""Features of one visual token for the built-in model, all zeros, as a safetensors file."""

EXAMPLE_UUID = "sku-1234-front"
"""A name that a client may give to an image."""

EXAMPLE_FEATURES_UUID = "sku-1234-features"
"""A name for the features: one name cannot be bound to both examples."""
