"""The oracle's images, and small ones made on the spot."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

MEDIA = Path(__file__).parents[2] / "models" / "golden" / "oracle" / "media"


@pytest.fixture
def media() -> Path:
    return MEDIA


@pytest.fixture
def encode() -> Callable[..., bytes]:
    def encode(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
        buffer = io.BytesIO()
        image.save(buffer, kind, **options)
        return buffer.getvalue()

    return encode
