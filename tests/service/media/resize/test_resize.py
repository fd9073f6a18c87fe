"""Sizes and pixels of the reference's resize."""

import math
import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.item import Size
from service.media.resize.image_rule import PixelRule, fit_area
from service.media.resize.resize import Framing, frame

RULE = PixelRule()
VECTORS = [
    ((480, 640), (480, 640), 300),
    ((1080, 1920), (992, 1792), 1736),
    ((3000, 4000), (1152, 1536), 1728),
    ((1700, 2500), (1088, 1632), 1734),
    ((1280, 1440), (1280, 1440), 1800),
    ((48, 80), (64, 64), 4),
    ((77, 100), (64, 96), 6),
    ((16, 16), (64, 64), 4),
    ((1, 1), (64, 64), 4),
    ((10, 1000), (32, 992), 31),
    ((1, 200), (32, 192), 6),
    ((20, 4000), (32, 4000), 125),
    ((100, 20000), (96, 19200), 1800),
]


def fit(height: int, width: int, rule: PixelRule, param: str | None = None, index: int | None = None) -> Size:
    return rule.plan(height, width, ErrorLocation(param, index)).size


@pytest.mark.parametrize(("stored", "fitted", "num_tokens"), VECTORS)
def test_the_references_test_vectors(stored: tuple[int, int], fitted: tuple[int, int], num_tokens: int) -> None:
    assert fit(*stored, RULE) == fitted
    assert fitted[0] * fitted[1] // 1024 == num_tokens
    assert fit(stored[1], stored[0], RULE) == fitted[::-1]


def test_every_size_is_whole_tokens_within_the_areas() -> None:
    source = random.Random(3)
    for _ in range(5_000):
        height, width = (math.ceil(math.exp(source.uniform(0, 9.7))) for _ in range(2))
        if max(height, width) > 200 * min(height, width):
            continue
        fitted = fit(height, width, RULE)
        assert fitted[0] % 32 == fitted[1] % 32 == 0
        assert 4_096 <= fitted[0] * fitted[1] <= 1_843_200


def test_a_ratio_of_200_is_accepted_and_201_is_refused_with_the_number() -> None:
    assert fit(1, 200, RULE) == (32, 192)
    with pytest.raises(MediaError) as caught:
        fit(1, 201, RULE, param="image", index=2)
    assert caught.value.code == "media_too_large"
    assert "201 x 1" in caught.value.message
    assert "200" in caught.value.message
    assert (caught.value.param, caught.value.index) == ("image", 2)


def test_a_side_that_a_small_maximum_would_erase_is_an_error_with_both_numbers() -> None:
    with pytest.raises(MediaError) as caught:
        fit(20, 4000, PixelRule(max_pixels=16_384))
    assert caught.value.code == "invalid_request"
    assert "16384" in caught.value.message
    assert "4000 x 20" in caught.value.message


@pytest.mark.parametrize("name", ["square.png", "wide.png", "tiny.png", "ribbon.png", "real1.jpg"])
def test_the_pixels_are_pillows_default_resize_of_an_rgb_image(media: Path, name: str) -> None:
    with Image.open(media / name) as image:
        image = image.convert("RGB")
    height, width = fit(image.height, image.width, RULE)
    pixels = frame(image, Framing(((height, width),)), (height, width))
    assert pixels.dtype == np.uint8
    assert pixels.shape == (height, width, 3)
    assert np.array_equal(pixels, np.asarray(image.resize((width, height))))


@pytest.mark.parametrize(("least", "most"), [(4, 1_280), (4, 768), (9, 40)])
def test_sizes_of_transformers_processor_are_its_own(least: int, most: int) -> None:
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

    limits = {"factor": 28, "min_pixels": least * 784, "max_pixels": most * 784}
    rule = PixelRule(**limits, max_aspect=200, raises_late=True)
    source, num_others = random.Random(5), 0
    sizes = [(math.ceil(math.exp(source.uniform(0, 9.7))), source.randint(1, 3_000)) for _ in range(5_000)]
    for height, width in ((14, 102), (14, 1_000), (1, 200), (3, 600), (14, 2_800), *sizes):
        if max(height, width) > 200 * min(height, width):
            continue
        theirs = smart_resize(height, width, **limits)
        assert fit(height, width, rule) == theirs, (height, width)
        num_others += 14 in (height, width) and fit_area(height, width, **limits) != theirs
    assert num_others


def test_both_forms_have_keys_of_their_own() -> None:
    assert RULE.key_parts != PixelRule(raises_late=True).key_parts
