"""Files of features: plain .npy and safetensors of one tensor; every other file is refused with the reason."""

import io
import json
import pickle
import zipfile
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save as save_safetensors

from tests.builders import npy_bytes
from tests.service.media.features.sent_features import ROWS, WIDTH, numbers, opened, refusal, safetensors


def saved_by_torch(**options: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(torch.from_numpy(numbers()), buffer, **options)
    return buffer.getvalue()


def test_what_torch_saves_is_refused_with_what_to_send_instead() -> None:
    for file in (saved_by_torch(), saved_by_torch(_use_new_zipfile_serialization=False), pickle.dumps([1])):
        message = refusal(file).message
        assert "can hold code" in message
        assert "safetensors.torch.save(" in message


def test_an_npz_is_refused_unopened() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", bytes(1 << 20))
    assert "zip archive" in refusal(buffer.getvalue()).message


class Trap:
    """Unpickled, it would end the test run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('unpickled')",)


NPY_FAULTS = {
    "objects": (npy_bytes(np.array([[Trap()]], dtype=object)), "|O (Python objects"),
    "big-endian": (npy_bytes(numbers(dtype=">f4")), "big-endian"),
    "float64": (npy_bytes(numbers(dtype="<f8")), "the dtype <f8"),
    "integers": (npy_bytes(numbers().astype("<i4")), "the dtype <i4"),
    "structured": (npy_bytes(np.zeros(3, dtype=[("a", "<f4")])), "no plain array"),
    "fortran": (npy_bytes(np.asfortranarray(numbers())), "Fortran order"),
    "cut": (npy_bytes(numbers())[:-1], "575 bytes of numbers; the shape 6 x 24 in float32 needs 576"),
    "trailing": (npy_bytes(numbers()) + b"\0", "577 bytes of numbers"),
    "header cut": (npy_bytes(numbers())[:40], "cut short"),
    "magic alone": (b"\x93NUMPY", "the version"),
    "version": (b"\x93NUMPY\x09\x00" + npy_bytes(numbers())[8:], "the version 9.0"),
    "huge header": (b"\x93NUMPY\x02\x00" + (1 << 31).to_bytes(4, "little"), "at most 10000"),
    "huge shape": (npy_bytes(numbers()).replace(b"(6, 24), }", b"(1000000000000,), }"), "sizes"),
    "code": (npy_bytes(numbers()).replace(b"(6, 24), }", b"exit(), } "), "no plain array"),
    "a size as Python does not write it": (
        npy_bytes(numbers()).replace(b"(%d, " % ROWS, b"(0%d," % ROWS),
        "short list of sizes",
    ),
    "twice": (npy_bytes(numbers()).replace(b"'fortran_order': False", b"'descr': '<f4'        "), "no plain array"),
}


@pytest.mark.parametrize("name", NPY_FAULTS)
def test_an_npy_file_that_is_not_plain_is_refused(name: str) -> None:
    file, words = NPY_FAULTS[name]
    assert words in refusal(file).message


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_all_versions_of_npy_are_read(version: tuple[int, int]) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, numbers(), version)
    assert bytes(opened(buffer.getvalue())[0].data) == numbers().tobytes()


def raw_safetensors(header: Any, data: bytes) -> bytes:
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(encoded).to_bytes(8, "little") + encoded + data


def entry(dtype: str = "F32", shape: Any = (ROWS, WIDTH), offsets: Any = (0, ROWS * WIDTH * 4)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


DATA = numbers().tobytes()
SAFETENSORS_FAULTS = {
    "two tensors": (save_safetensors({"a": torch.zeros(1), "b": torch.zeros(1)}), "2 tensors; exactly one"),
    "another name": (raw_safetensors({"x": entry()}, DATA), "another name; `image_embeds` is accepted"),
    "none": (raw_safetensors({}, b""), "0 tensors"),
    "metadata alone": (raw_safetensors({"__metadata__": {"a": "b"}}, b""), "0 tensors"),
    "bad metadata": (raw_safetensors({"__metadata__": {"a": 1}, "image_embeds": entry()}, DATA), "__metadata__"),
    "float64": (safetensors(torch.zeros(ROWS, WIDTH, dtype=torch.float64)), "the dtype F64"),
    "integers": (safetensors(torch.zeros(ROWS, WIDTH, dtype=torch.int32)), "the dtype I32"),
    "unknown dtype": (raw_safetensors({"image_embeds": entry(dtype="evil\n" * 50)}, DATA), "the dtype another"),
    "dtype no text": (raw_safetensors({"image_embeds": entry(dtype=[1])}, DATA), "the dtype another"),  # type: ignore[arg-type]
    "twice": (
        raw_safetensors(b'{"x":' + json.dumps(entry()).encode() + b',"x":' + json.dumps(entry()).encode() + b"}", DATA),
        "names a key twice",
    ),
    "no json": (raw_safetensors(b"{" * 100, DATA), "not JSON"),
    "deep json": (raw_safetensors(b'{"x":' + b"[" * 60_000, DATA), "not JSON"),
    "utf-16": (raw_safetensors(b"{\0" + json.dumps(entry()).encode("utf-16-le"), DATA), "not JSON"),
    "huge number": (raw_safetensors(b'{"x":' + b"9" * 50_000 + b"}", DATA), "not JSON"),
    "no entry": (raw_safetensors({"image_embeds": 5}, DATA), "exactly `dtype`"),
    "more in the entry": (raw_safetensors({"image_embeds": entry() | {"y": 1}}, DATA), "exactly `dtype`"),
    "huge header": ((1 << 40).to_bytes(8, "little") + b"{}", "at most 65536"),
    "header cut": ((1000).to_bytes(8, "little") + b"{}", "cut short"),
    "cut": (raw_safetensors({"image_embeds": entry()}, DATA[:-1]), "575 bytes of numbers"),
    "trailing": (raw_safetensors({"image_embeds": entry()}, DATA + b"\0"), "577 bytes of numbers"),
    "offsets": (raw_safetensors({"image_embeds": entry(offsets=[4, ROWS * WIDTH * 4 + 4])}, DATA), "not [0, 576]"),
    "offsets no list": (raw_safetensors({"image_embeds": entry(offsets=7)}, DATA), "not [0, 576]"),
    "offsets true": (raw_safetensors({"image_embeds": entry(offsets=[False, ROWS * WIDTH * 4])}, DATA), "not [0, 576]"),
    "negative": (raw_safetensors({"image_embeds": entry(shape=[-ROWS, -WIDTH])}, DATA), "list of sizes"),
    "true as size": (raw_safetensors({"image_embeds": entry(shape=[True, ROWS * WIDTH])}, DATA), "list of sizes"),
    "many axes": (raw_safetensors({"image_embeds": entry(shape=[1] * 9_000)}, DATA), "9000 axes"),
    "huge and empty": (
        raw_safetensors({"image_embeds": entry(shape=[10**18, 0], offsets=[0, 0])}, b""),
        "list of sizes",
    ),
    "empty": (
        raw_safetensors({"image_embeds": entry(shape=[0, WIDTH], offsets=[0, 0])}, b""),
        "got 0 x 24, expected 6 x 24",
    ),
}


@pytest.mark.parametrize("name", SAFETENSORS_FAULTS)
def test_a_safetensors_file_that_is_not_one_tensor_is_refused(name: str) -> None:
    file, words = SAFETENSORS_FAULTS[name]
    assert words in refusal(file).message
