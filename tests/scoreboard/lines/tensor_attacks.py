"""Line 5: files of features that were made to do harm, each refused without torch ever being asked.

Torch writes some of them, in a process of its own; this one must not have imported it when all have been tried.
"""

import base64
import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from service.errors import MediaError
from service.media.features.features import FeatureRule, open_features
from service.media.features.npy_file import npy_head
from service.media.features.safetensors_file import ORIGIN, write_safetensors
from service.media.features.tensor import Tensor
from tests.builders import npy_bytes
from tests.scoreboard.line import Result, line

HIDDEN, WIDTH, ROWS, GRID = 4, 8, 4, [1, 4, 4]
RULE = FeatureRule(hidden=HIDDEN, width=WIDTH, origin="0" * 32)
NUMBERS = np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype("<f4")
INT32 = 2**31 - 1
Attack = tuple[str, bytes, list[object]]

BY_TORCH = """
import pathlib, pickle, sys
import torch
folder = pathlib.Path(sys.argv[1])
class Harm:
    def __reduce__(self):
        return exec, (f"import pathlib; pathlib.Path({str(folder / 'harm')!r}).touch()",)
indices = torch.tensor([[0, 1 << 40]])
sparse = torch.sparse_coo_tensor(indices, torch.ones(2), (1 << 41,), check_invariants=False)
things = {
    "sparse": sparse,
    "expanded": torch.zeros(1).expand(1_000_000_000),
    "meta": torch.zeros(4, 8, device="meta"),
    "dict": {"image_embeds": torch.zeros(4, 8)},
    "string": "x" * 1000,
    "plain": torch.zeros(4, 8),
    "harm": Harm(),
}
for name, thing in things.items():
    torch.save(thing, folder / f"{name}.pt")
    try:
        torch.save(thing, folder / f"{name}.old.pt", _use_new_zipfile_serialization=False)
    except (RuntimeError, NotImplementedError):
        pass
(folder / "bare.pt").write_bytes(pickle.dumps(Harm()))
(folder / "protocol0.pt").write_bytes(pickle.dumps(Harm(), protocol=0))
"""


def attacks(folder: Path) -> Iterator[Attack]:
    """All of them: name, file, grid."""
    yield from ((path.name, path.read_bytes(), GRID) for path in sorted(folder.glob("*.pt")))
    yield from _archives(folder)
    yield from ((f"safetensors, {name}", file, GRID) for name, file in _safetensors())
    yield from ((f"npy, {name}", file, GRID) for name, file in _npy())
    yield from _numbers()
    yield from _grids()


def _archives(folder: Path) -> Iterator[Attack]:
    bomb = folder / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/0", bytes(64 << 20))
    yield "deflate bomb in a zip", bomb.read_bytes(), GRID
    yield "deflate bomb", zlib.compress(bytes(16 << 20)), GRID
    yield "gzip", b"\x1f\x8b\x08\0" + bytes(40), GRID
    yield "hdf5", b"\x89HDF\r\n\x1a\n" + bytes(40), GRID
    yield "onnx", b"\x08\x07\x12\x0c" + bytes(40), GRID
    yield "nothing", b"", GRID


def _safetensors() -> Iterator[tuple[str, bytes]]:
    data, wide = NUMBERS.tobytes(), ROWS * WIDTH * 4
    good = {"dtype": "F32", "shape": [ROWS, WIDTH], "data_offsets": [0, wide]}
    named = json.dumps({"image_embeds": good})[1:-1].encode()
    yield "header of 50 MB", (50 << 20).to_bytes(8, "little") + b"{" + b" " * 1000
    yield "header padded to 70 kB", _file(b"{" + named + b" " * 70_000 + b"}", data)
    yield "header length 2^64 - 1", b"\xff" * 8 + b"{}"
    yield "rank 15,000", _file({"image_embeds": good | {"shape": [1] * 15_000}}, data)
    yield "a key twice", _file(b"{" + named + b"," + named + b"}", data)
    yield (
        "a field twice",
        _file(b'{"image_embeds":{"dtype":"F32","dtype":"F32","shape":[4,8],"data_offsets":[0,128]}}', data),
    )
    yield "dimension 10^18", _file({"image_embeds": good | {"shape": [10**18, 0], "data_offsets": [0, 0]}}, b"")
    yield "800 tensors", _file({f"t{i}": good | {"data_offsets": [0, 0], "shape": [0]} for i in range(800)}, b"")
    yield "two tensors", _file({"image_embeds": good, "other": good}, data)
    yield "another name", _file({"other": good}, data)
    for dtype in ("BOOL", "F4", "F8_E4M3", "F64", "I64", "C64", "U8", "F8_E8M0"):
        yield f"dtype {dtype}", _file({"image_embeds": good | {"dtype": dtype}}, data)
    yield "overflowing shape", _file({"image_embeds": good | {"shape": [2**33, 2**33]}}, data)
    yield "negative shape", _file({"image_embeds": good | {"shape": [-4, -8]}}, data)
    yield "shape of floats", _file({"image_embeds": good | {"shape": [4.0, 8.0]}}, data)
    yield "a hole", _file({"image_embeds": good | {"data_offsets": [4, wide + 4]}}, bytes(4) + data)
    yield "offsets backwards", _file({"image_embeds": good | {"data_offsets": [wide, 0]}}, data)
    yield "trailing bytes", _file({"image_embeds": good}, data + b"\0")
    yield "cut", _file({"image_embeds": good}, data[:-1])
    yield "bad UTF-8", _file(b'{"image_embeds\xff":1}', data)
    yield "deep JSON", _file(b'{"image_embeds":' + b"[" * 60_000, data)
    yield "NaN in JSON", _file(b'{"image_embeds":{"dtype":"F32","shape":[NaN,8],"data_offsets":[0,128]}}', data)
    yield "a byte order mark", _file(b"\xef\xbb\xbf{" + named + b"}", data)
    yield "metadata of numbers", _file({"__metadata__": {"a": 1}, "image_embeds": good}, data)
    yield "another model's", _file({"__metadata__": {ORIGIN: "f" * 32}, "image_embeds": good}, data)


def _file(header: object, data: bytes) -> bytes:
    written = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + data


def _npy() -> Iterator[tuple[str, bytes]]:
    def file(descr: str = "'<f4'", order: str = "False", shape: str = "(4, 8)", more: str = "") -> bytes:
        header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, {more}}}".encode()
        return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + NUMBERS.tobytes()

    for name, descr in {
        "objects": "'|O'",
        "big-endian": "'>f4'",
        "float64": "'<f8'",
        "a structure": "[('a', '<f4')]",
    }.items():
        yield name, file(descr)
    yield "columns first", file(order="True")
    yield "10^12 numbers", file(shape="(1000000, 1000000)")
    yield "negative", file(shape="(-4, -8)")
    yield "a call in the header", file(shape="(__import__('os').getpid(), 8)")
    yield "a deep header", file(shape="(" * 200 + ")" * 200)
    yield "another field", file(more="'x': 1, ")
    yield "trailing bytes", file() + b"\0"
    yield "cut", file()[:-1]
    yield "version 9", file().replace(b"NUMPY\x01", b"NUMPY\x09")
    yield "a header of 4 GB", b"\x93NUMPY\x02\0" + b"\xff" * 4 + b"{"


def _numbers() -> Iterator[Attack]:
    for place in range(0, ROWS * WIDTH, 5):
        for name, number in (("nan", np.nan), ("inf", np.inf), ("1e30", 1e30)):
            bad = NUMBERS.copy()
            bad.flat[place] = number
            tensor = Tensor("float32", (ROWS, WIDTH), memoryview(bad.tobytes()))
            file = npy_head(tensor) + tensor.data if place % 2 else write_safetensors(tensor)
            yield f"{name} at {place}", file, GRID
    half = NUMBERS.astype("<f2")
    half[1, 1] = 65_504
    yield "the largest float16", npy_bytes(half), GRID


def _grids() -> Iterator[Attack]:
    good = npy_bytes(NUMBERS)
    for grid in (
        [0, 4, 4], [1, 0, 4], [1, 4, 0], [-1, -4, 4], [1, -4, -4], [2, 2, 4], [4, 4, 1], [1, 3, 5], [1, 2, 4],
        [1, 4, 6], [1, 8, 8], [1, INT32, INT32], [1, 2**31, 2], [1, 2**63, 2], [1, 2**32 + 4, 4], [1, 4], [1, 4, 4, 1],
        [], [[1, 4, 4], [1, 4, 4]], [[1, 4, 4], 1, 4, 4], [[1, 4]], [1, 2, 2] * 5, [1, 2, 2] * 3,
    ):  # fmt: skip
        yield f"grid {grid}", good, list(grid)
    for shape in (
        (ROWS - 1, WIDTH),
        (ROWS + 1, WIDTH),
        (ROWS, WIDTH - 1),
        (WIDTH, ROWS),
        (ROWS, HIDDEN),
        (ROWS * WIDTH,),
        (),
    ):
        num_numbers = int(np.prod(shape))
        tensor = Tensor("float32", shape, memoryview(np.resize(NUMBERS, num_numbers).tobytes()))
        yield f"shape {shape}", write_safetensors(tensor), GRID


@line(
    5,
    "files of features made to do harm: torch.save, bombs, ranks, headers, grids, NaN, another model's",
    "all refused, none reaches torch",
    sizes=(80, 80),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    """Try every attack; `size` is met by trying them again."""
    environ = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    subprocess.run([sys.executable, "-c", BY_TORCH, str(folder)], check=True, env=environ, capture_output=True)
    known = list(attacks(folder))
    num_tried, failures = 0, []
    while num_tried < max(size, len(known)):
        for name, file, grid in known:
            num_tried += 1
            if failure := _failure(file, grid):
                failures.append(f"{name}: {failure}")
    if "torch" in sys.modules:
        failures.append("torch was imported")
    if (folder / "harm").exists():
        failures.append("a pickle was run")
    return Result(num_tried, len(failures), [*failures[:6], f"{len(known)} files"])


def _failure(file: bytes, grid: list[object]) -> str:
    try:
        open_features(base64.b64encode(file).decode(), grid, RULE)  # type: ignore[arg-type]  # wrong on purpose
    except MediaError as error:
        is_clean = error.code == "invalid_image_embeds" and error.__cause__ is None and len(error.message) < 400
        return "" if is_clean else f"{error.code}: {error.message[:100]}"
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is not ours
        return type(error).__name__
    return "accepted"
