"""Crafted pairs of images, readings, rules, features and tenants that a careless key would take for one."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from PIL import Image

from service.decode.image_decoder import ThreadDecoder
from service.decode.start import Decoders
from service.front.engine_client.pixel_loader import PixelLoader
from service.front.inputs.uuids import UuidStore
from service.ipc.arena import PixelArena
from service.media.features.features import FeaturesItem
from service.media.image.decode import load_pixels
from service.media.image.header import DecodeLimits
from service.media.image.image_file import ImageFile, open_image
from service.media.item import Background, ImageReadOptions
from service.media.key import (
    content_key,
    features_digest,
    features_key,
    features_origin,
    features_source_digest,
    file_digest,
)
from service.media.media_item import MediaItem
from service.media.resize.image_rule import PixelRule
from service.settings.settings import Settings
from tests.builders import image_bytes
from tests.scoreboard.lines.mutants.image_seeds import ORIENTED, noise

RULE = PixelRule()
SAME_SIZE = PixelRule(min_pixels=1)


def twins() -> Iterator[tuple[str, bool]]:
    """Crafted pairs, each with whether it is told apart (or, where it says so, recognized as one)."""
    wide, high = (image_bytes(noise("L", size=size), "PNG") for size in ((150, 30), (30, 150)))
    yield "30 x 150 and 150 x 30", _differ(wide, high)
    flat = bytes(150 * 30 * 3)
    yield (
        "the same bytes as 30 x 150 and 150 x 30",
        content_key(flat, (30, 150), b"") != content_key(flat, (150, 30), b""),
    )
    palettes = [Image.new("P", (64, 64), 1) for _ in range(2)]
    for place, one in enumerate(palettes):
        one.putpalette([0, 0, 0, 200 * place, 10, 10])
    yield "one index, two palettes", _differ(*(image_bytes(one, "PNG") for one in palettes))
    yield "one index, two palettes, as GIF", _differ(*(image_bytes(one, "GIF") for one in palettes))
    opaque = noise("RGB", size=(64, 64))
    yield (
        "RGB and opaque RGBA are one image",
        _equal_pixels(image_bytes(opaque, "PNG"), image_bytes(opaque.convert("RGBA"), "PNG")),
    )
    yield "PNG and BMP are one image", _equal_pixels(image_bytes(opaque, "PNG"), image_bytes(opaque, "BMP"))
    clear = opaque.convert("RGBA")
    clear.putalpha(0)
    yield "RGB and clear RGBA", _differ(image_bytes(opaque, "PNG"), image_bytes(clear, "PNG"))
    turned = image_bytes(opaque, "PNG", exif=ORIENTED)
    yield (
        "EXIF differs, and is applied",
        _differ(image_bytes(opaque, "PNG"), turned, options=ImageReadOptions(upright=True)),
    )
    yield "EXIF differs, and is ignored", _equal_pixels(image_bytes(opaque, "PNG"), turned)
    yield "upright and as stored", _key(turned) != _key(turned, options=ImageReadOptions(upright=True))
    yield from _readings(image_bytes(noise("RGBA", size=(64, 64)), "PNG"))
    yield from _rules(image_bytes(opaque, "PNG"))
    yield from _tensors()
    yield from _tenants(image_bytes(opaque, "PNG"))


def _readings(file: bytes) -> Iterator[tuple[str, bool]]:
    colors: list[Background] = ["reference", (0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 0, 255)]
    items = {color: _open(file, options=ImageReadOptions(color)) for color in colors}
    for color in colors[1:]:
        yield f"over {color}, level 2", items[color].digest != items["reference"].digest
        is_white = color == (255, 255, 255)  # the reference's own background: the same pixels
        yield f"over {color}, level 1", (_content_of(items[color]) == _content_of(items["reference"])) == is_white
    yield "a name stands for both", len({item.identity for item in items.values()}) == 1


def _rules(file: bytes) -> Iterator[tuple[str, bool]]:
    for change in ({"factor": 28}, {"min_pixels": 99}, {"max_pixels": 99_999}, {"max_aspect": 199}):
        other = open_image(file, DecodeLimits(), replace(RULE, **change))
        yield f"another {next(iter(change))}", other.digest != open_image(file, DecodeLimits(), RULE).digest


def _tensors() -> Iterator[tuple[str, bool]]:
    data, grid = memoryview(bytes(range(64))), (1, 2, 4)
    one = features_digest(data, "float16", grid, 16)
    yield "the same bytes as float16 and bfloat16", one != features_digest(data, "bfloat16", grid, 16)
    yield "the same bytes as float16 and float32", one != features_digest(data, "float32", grid, 8)
    yield "the same rows on 2 x 4 and 4 x 2", one != features_digest(data, "float16", (1, 4, 2), 16)
    yield "the same bytes in wider rows", one != features_digest(data, "float16", grid, 32)
    yield "features and a file of the same bytes", one != file_digest(bytes(data))
    yield "features of two models", features_key(one, b"a") != features_key(one, b"b")
    yield "origins of two models", features_origin(b"a") != features_origin(b"b")
    keys = {features_key(one, b"m"), features_source_digest(one), content_key(bytes(12), (2, 2), b"m"), one}
    yield "keys of different kinds", len(keys) == 4


def _tenants(file: bytes) -> Iterator[tuple[str, bool]]:
    """Images decoded and named by one tenant are unknown to the other, over the tables that hold them."""
    features = FeaturesItem(memoryview(bytes(4 * 32)), "float32", b"n" * 32, (1, 2, 2))
    for kind, items in {
        "image": [_open(file, salt=salt) for salt in (b"", b"a", b"b")],
        "features": [replace(features, salt=salt) for salt in (b"", b"a", b"b")],
    }.items():
        loaded = asyncio.run(_loaded([*items, *items]))
        yield f"{kind}: each tenant's first is new", loaded[:3] == [True, True, True]
        yield f"{kind}: each tenant's second is known", loaded[3:] == [False, False, False]
        yield f"{kind}: no key is shared, level 2", len({item.digest for item in items}) == 3
        yield f"{kind}: no key is shared, level 1", len({item.key(_slot(item), b"m") for item in items}) == 3
        store = UuidStore(1 << 20)
        store.bind(b"A", "name", items[1])
        yield (
            f"{kind}: a name is its tenant's",
            store.find(b"B", "name") is None and store.find(b"A", "name") is not None,
        )


async def _loaded(items: list[MediaItem]) -> list[bool]:
    """For each, True if it had to be loaded, one after the other."""
    arena = PixelArena(1 << 20)
    decoder = ThreadDecoder(num_threads=1, max_bytes=1 << 30, deadline_s=60)
    loader = PixelLoader(arena, b"m", decoder, Decoders(Settings(), 1), num_threads=1)
    new = []
    for item in items:
        loaded = await loader.load([item])
        new.append(loaded.take(item).slot is not None)
    return new


def _slot(item: MediaItem) -> memoryview:
    return load_pixels(item).data.cast("B") if isinstance(item, ImageFile) else memoryview(b"")


def _open(file: bytes, options: ImageReadOptions | None = None, salt: bytes = b"") -> ImageFile:
    return open_image(file, DecodeLimits(), SAME_SIZE, options=options or ImageReadOptions(), salt=salt)


def _content_of(item: ImageFile) -> bytes:
    return item.key(_slot(item), b"m")


def _key(file: bytes, options: ImageReadOptions | None = None) -> tuple[bytes, bytes]:
    item = _open(file, options)
    return item.digest, _content_of(item)


def _differ(one: bytes, other: bytes, options: ImageReadOptions | None = None) -> bool:
    return all(a != b for a, b in zip(_key(one, options), _key(other, options), strict=True))


def _equal_pixels(one: bytes, other: bytes) -> bool:
    (digest, key), (other_digest, other_key) = _key(one), _key(other)
    return digest != other_digest and key == other_key
