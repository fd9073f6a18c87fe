"""Rows as JSON and as bytes, against numpy and torch."""

import base64
import json
from typing import Any, get_args

import msgspec
import numpy as np
import pytest
import torch

from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.fields import EmbedDtype, Endianness
from service.http.responses.answer import BodyParts, in_parts, slices
from service.outputs.dense import VectorFormat
from service.outputs.printing import NumberList

SIGNS = np.array([0.0, -0.0, 1.0, -1.0, 0.1, -65504.0, 6e-8, 1 / 3], np.float32)
NUMPY = {"float32": "f4", "float16": "f2", "bfloat16": "u2"}


def row_of(values: np.ndarray, dtype: str) -> bytes:
    """A row as the engine gives it."""
    return torch.from_numpy(values).to(getattr(torch, dtype)).view(torch.uint8).numpy().tobytes()


def encode(answer: Any) -> bytes:
    return b"".join(slices(in_parts(answer)))


def request(**fields: Any) -> EmbeddingRequest:
    return EmbeddingRequest(input="x", **fields)


def test_what_is_absent_is_float32_little_numbers() -> None:
    assert VectorFormat.of(request()) == VectorFormat(is_base64=False, dtype="float32", is_big_endian=False)
    assert not VectorFormat.of(request(endianness="native")).is_big_endian


@pytest.mark.parametrize("dtype", get_args(EmbedDtype))
@pytest.mark.parametrize("endianness", get_args(Endianness))
def test_base64_and_raw_bytes_are_numpys(dtype: EmbedDtype, endianness: Endianness) -> None:
    row = row_of(SIGNS, dtype)
    vector_format = VectorFormat.of(request(encoding_format="base64", embed_dtype=dtype, endianness=endianness))
    order = ">" if endianness == "big" else "<"
    want = np.frombuffer(row, f"<{NUMPY[dtype]}").astype(f"{order}{NUMPY[dtype]}").tobytes()
    assert b"".join(slices(BodyParts([vector_format.raw(row)]))) == want
    assert base64.b64decode(msgspec.json.decode(encode(vector_format.json(row)))) == want


@pytest.mark.parametrize("dtype", get_args(EmbedDtype))
def test_every_16_bit_pattern_is_printed_and_read_back(dtype: EmbedDtype) -> None:
    if dtype == "float32":
        values = np.random.default_rng(1).integers(0, 2**32, 65536, np.uint32).view(np.float32)
    else:
        values = torch.arange(-32768, 32768).short().view(getattr(torch, dtype)).float().numpy()
    values = values[np.isfinite(values)]
    row = row_of(values, dtype)
    for endianness in get_args(Endianness):  # which numbers do not have
        wanted = request(encoding_format="float", embed_dtype=dtype, endianness=endianness)
        numbers = json.loads(encode(VectorFormat.of(wanted).json(row)))
        np.testing.assert_array_equal(np.array(numbers, np.float32).view(np.uint32), values.view(np.uint32))


def test_nothing_but_vectors_prints_itself() -> None:
    with pytest.raises(TypeError, match="object is no part of an answer"):
        encode([object()])


def test_numbers_have_the_fewest_digits_that_give_float32_back() -> None:
    values = np.random.default_rng(2).standard_normal(2000, np.float32)
    printed = encode(NumberList(values.tobytes(), "float32"))[1:-1].decode().split(",")
    for text, value in zip(printed, values, strict=True):
        digits = len(text.replace("-", "").replace(".", "").lstrip("0"))
        assert np.float32(text) == value
        assert np.float32(f"{value:.{digits - 2}e}") != value, text  # one digit fewer is another number
