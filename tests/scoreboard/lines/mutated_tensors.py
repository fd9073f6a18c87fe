"""Line 4: broken safetensors, npy and torch files where features are expected; what is taken must be what is there.

What is accepted is held against the libraries' own readers, which read it their way, and against the file's last bytes.
"""

import base64
import io
import json
import random
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import safetensors

from service.errors import MediaError
from service.media.features.features import FeatureRule, FeaturesItem, open_features
from service.media.features.npy_file import npy_head
from service.media.features.safetensors_file import ORIGIN, write_safetensors
from service.media.features.tensor import Tensor
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.mutants.mutation import mutate
from tests.scoreboard.lines.mutants.side_by_side import CHUNK, Found, side_by_side

HIDDEN, WIDTH, ROWS, GRID = 4, 8, 4, [1, 4, 4]
RULE = FeatureRule(hidden=HIDDEN, width=WIDTH, origin="0" * 32)
WORDS = (
    (b"False", b"True "),
    (b"<f4", b">f4"),
    (b"<f4", b"|O8"),
    (b"<f2", b"<f4"),
    (b"F32", b"F16"),
    (b'"F16"', b'"BF16"'),
    (b"BF16", b"F64 "),
    (b'"shape"', b'"dtype"'),
    (b"image_embeds", b"Image_embeds"),
    (b"(4, 8)", b"(32,) "),
    (b"[4,8]", b"[32]"),
    (b"[4,8]", b"[8,4]"),
    (b"0" * 32, b"1" * 32),
)
"""Replacements in a header."""
DESCRS = {"float32": "<f4", "float16": "<f2"}


@cache
def seeds() -> tuple[bytes, ...]:
    """Files that are taken, and those of `torch.save`, which never are."""
    numbers = np.random.default_rng(0).normal(size=(ROWS, WIDTH))
    tensors = [
        Tensor("float32", (ROWS, WIDTH), memoryview(numbers.astype("<f4").tobytes())),
        Tensor("float16", (ROWS, WIDTH), memoryview(numbers.astype("<f2").tobytes()), RULE.origin),
        Tensor(
            "bfloat16", (ROWS, WIDTH), memoryview((numbers.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes())
        ),
    ]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr(zipfile.ZipInfo("archive/data.pkl"), b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x00.")
        zipped.writestr(zipfile.ZipInfo("archive/data/0"), numbers.astype("<f4").tobytes())
    return (
        *map(write_safetensors, tensors),
        *(npy_head(tensor) + tensor.data for tensor in tensors[:2]),
        _wide_header(tensors[0]),
        archive.getvalue(),
        b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03." + numbers.astype("<f4").tobytes(),
    )


def _wide_header(tensor: Tensor) -> bytes:
    entry = {"dtype": "F32", "shape": [1, ROWS, WIDTH], "data_offsets": [0, len(tensor.data)]}
    header = json.dumps(
        {"__metadata__": {"format": "pt", ORIGIN: RULE.origin}, "image_embeds": entry}, indent=2
    ).encode()
    return len(header).to_bytes(8, "little") + header + tensor.data


def chunk(start: int, stop: int) -> Found:
    """Some cases, each the same in every run."""
    found, draw = Found(), random.Random(start // CHUNK)
    for number in range(start, stop):
        seed, other = draw.choice(seeds()), draw.choice(seeds())
        way = draw.random()
        mutant = _digits(draw, seed) if way < 0.3 else _word(draw, seed) if way < 0.4 else mutate(draw, seed, other)
        with found.timed(f"case {number}"):
            failure = _failure(mutant, found)
        if failure:
            found.failures.append(f"case {number}: {failure}")
    return found


def _digits(draw: random.Random, seed: bytes) -> bytes:
    """Another digit, or one more, in the header: shapes and offsets that nearly fit."""
    mutant = bytearray(seed)
    places = [i for i, byte in enumerate(seed[:200]) if 48 <= byte < 58]
    if places:
        place = draw.choice(places)
        mutant[place : place + draw.randrange(2)] = draw.choice((b"0", b"1", b"4", b"8", b"9", b"-", b".", b"e"))
    return bytes(mutant)


def _word(draw: random.Random, seed: bytes) -> bytes:
    """Another word in the header, and perhaps a number that no model computes with."""
    mutant = bytearray(seed.replace(*draw.choice(WORDS)))
    if draw.random() < 0.3:
        place = len(mutant) - draw.randrange(1, 60)
        mutant[place : place + 2] = draw.choice((b"\x80\x7f", b"\x00\x7c", b"\xc0\xff", b"\x80\x46"))
    return bytes(mutant)


def _failure(mutant: bytes, found: Found) -> str:
    try:
        (item,) = open_features(base64.b64encode(mutant).decode(), GRID, RULE)
    except MediaError as error:
        is_clean = error.code == "invalid_image_embeds" and error.__cause__ is None and len(error.message) < 400
        return "" if is_clean else f"{error.code}: {error.message[:100]}"
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is not ours
        return type(error).__name__
    found.num_accepted += 1
    try:
        return _difference(mutant, item)
    except Exception as error:  # noqa: BLE001  # the libraries refuse what we took
        return f"a library refuses it: {error}"


def _difference(mutant: bytes, item: FeaturesItem) -> str:
    """The difference of an accepted file and its features; nothing when writing them again gives the same features."""
    data = bytes(item.data)
    if len(data) != ROWS * WIDTH * (4 if item.dtype == "float32" else 2) or not mutant.endswith(data):
        return "features that are not the file's last bytes"
    if not (np.abs(_values(item)) <= RULE.max_abs).all():
        return "numbers that no model computes with"
    if mutant.startswith(b"\x93NUMPY"):
        array = np.load(io.BytesIO(mutant), allow_pickle=False)
        if (array.dtype.str, array.tobytes()) != (DESCRS[item.dtype], data) or array.size != ROWS * WIDTH:
            return "numpy reads other numbers"
        again = npy_head(Tensor(item.dtype, (ROWS, WIDTH), item.data)) + item.data
    else:
        ((name, read),) = safetensors.deserialize(mutant)
        codes = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
        if (name, codes.get(read["dtype"]), bytes(read["data"])) != ("image_embeds", item.dtype, data):
            return "safetensors reads other numbers"
        again = write_safetensors(Tensor(item.dtype, (ROWS, WIDTH), item.data))
    return (
        "" if open_features(base64.b64encode(again).decode(), GRID, RULE) == [item] else "written again, it is another"
    )


def _values(item: FeaturesItem) -> np.ndarray:
    if item.dtype == "bfloat16":
        return (np.frombuffer(item.data, "<u2").astype("<u4") << 16).view("<f4")
    return np.frombuffer(item.data, DESCRS[item.dtype]).astype("<f4")


@line(
    4,
    "broken safetensors, npy and torch files as features",
    "0 crashes; accepted only when the libraries read the same numbers and writing gives them again",
    sizes=(200_000, 5_000_000),
)
def run(size: int, folder: Path) -> Result:
    """Try `size` broken files."""
    return side_by_side(size, chunk)
