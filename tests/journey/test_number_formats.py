"""`embed_dtype`, `endianness` and `normalize` through the live server, and what float16 cannot hold."""

import asyncio
import base64
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from openai import AsyncOpenAI
from openai.types import CreateEmbeddingResponse
from safetensors.torch import load_file, save_file

from schemas.fields import EmbedDtype, Endianness
from tests.conftest import CHECKPOINT, LiveServer, image, image_part, text_part
from tests.journey.conftest import V1

ITEMS = [{"content": "a red bicycle"}, {"content": [image_part(image(90)), text_part("a door")]}, {"content": ""}]
FORMATS = list(itertools.product(get_args(EmbedDtype), get_args(Endianness)))
STORED = {"float32": "u4", "float16": "u2", "bfloat16": "u2"}
HIGHEST_FLOAT16 = 65504
WORDS = ["a", "red", "bicycle", "stands", "against", "the", "wall", "and", "rusts"]


def rounded(vectors: np.ndarray, dtype: str) -> torch.Tensor:
    return torch.from_numpy(vectors.copy()).to(getattr(torch, dtype))


def expected_bytes(vector: np.ndarray, dtype: str, endianness: str) -> bytes:
    """The vector's components rounded by torch and laid out by numpy."""
    bits = rounded(vector, dtype).view(torch.uint8).numpy().view(f"<{STORED[dtype]}")
    return bits.astype(f"{'>' if endianness == 'big' else '<'}{STORED[dtype]}").tobytes()


def from_half(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f2")


@pytest.fixture
def server(keeping: LiveServer) -> LiveServer:
    return keeping


def raw_vectors(server: LiveServer, **fields: Any) -> np.ndarray:
    return server.vectors({"inputs": ITEMS, "normalize": False} | fields)


@pytest.mark.parametrize(("dtype", "endianness"), FORMATS)
def test_base64_holds_every_dtype_in_every_byte_order(server: LiveServer, dtype: str, endianness: str) -> None:
    wanted = {"embed_dtype": dtype, "endianness": endianness, "encoding_format": "base64"}
    data = server.ask(V1, {"inputs": ITEMS} | wanted).json()["data"]
    for entry, vector in zip(data, server.vectors({"inputs": ITEMS}), strict=True):
        assert base64.b64decode(entry["embedding"]) == expected_bytes(vector, dtype, endianness)


@pytest.mark.parametrize(("dtype", "endianness"), FORMATS)
def test_numbers_are_rounded_to_the_dtype_and_have_no_byte_order(
    server: LiveServer, dtype: str, endianness: str
) -> None:
    body = {"inputs": ITEMS, "embed_dtype": dtype, "endianness": endianness}
    got = np.array([entry["embedding"] for entry in server.ask(V1, body).json()["data"]], np.float32)
    np.testing.assert_array_equal(got, rounded(server.vectors({"inputs": ITEMS}), dtype).float().numpy())


def test_a_raw_vector_has_its_own_length_and_normalizes_to_the_default(server: LiveServer) -> None:
    raw, default = raw_vectors(server), server.vectors({"inputs": ITEMS})
    lengths = np.linalg.norm(raw, axis=1, keepdims=True)
    assert (abs(lengths - 1) > 0.1).all()
    np.testing.assert_allclose(raw / lengths, default, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(server.vectors({"inputs": ITEMS, "normalize": True}), default)


def test_a_shorter_raw_vector_is_the_start_of_the_longer_one(server: LiveServer) -> None:
    np.testing.assert_array_equal(raw_vectors(server, dimensions=64), raw_vectors(server)[:, :64])


def test_requests_that_differ_in_all_of_it_share_a_batch(server: LiveServer) -> None:
    """Sent at once, they meet in one step of the engine; each gets its own."""
    wants = [{"normalize": n, "dimensions": d} for n in (True, False) for d in (64, 128)] * 4

    async def ask_all() -> list[CreateEmbeddingResponse]:
        async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as client:
            return await asyncio.gather(
                *(client.embeddings.create(model="builtin", input="x", extra_body=want) for want in wants)
            )

    for want, answer in zip(wants, asyncio.run(ask_all()), strict=True):
        got = np.array(answer.data[0].embedding, "<f4")
        np.testing.assert_allclose(got, server.vectors({"input": "x"} | want)[0], rtol=0, atol=1e-5)


@pytest.fixture(scope="module")
def loud_server(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> LiveServer:
    """The oracle's weights with one component made so loud that for some texts float16 cannot hold it."""
    folder: Path = tmp_path_factory.mktemp("loud") / "checkpoint"
    shutil.copytree(CHECKPOINT, folder)
    weights = load_file(folder / "model.safetensors")
    weights["model.language_model.norm.weight"][-1] *= 1.2e5
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return start_server("--model", str(folder)).wait_until_ready()


@pytest.mark.slow
def test_what_float16_cannot_hold_is_an_error_of_its_item(loud_server: LiveServer) -> None:
    loud = np.abs(loud_server.vectors({"input": WORDS, "normalize": False})[:, -1])
    fits = loud <= HIGHEST_FLOAT16
    assert 0 < fits.sum() < len(WORDS)
    body = {"input": WORDS, "normalize": False, "embed_dtype": "float16", "encoding_format": "base64"}
    error = loud_server.http.post(V1, json=body).json()["error"]
    assert (error["code"], error["index"]) == ("non_finite_embedding", int(np.argmin(fits)))
    assert error["param"] == f"input[{error['index']}]"
    assert error["message"].startswith(f"`{error['param']}`: ")
    data = loud_server.ask(V1, body | {"on_error": "per_item"}).json()["data"]
    assert [entry["embedding"] is not None for entry in data] == fits.tolist()
    assert {entry["error"]["code"] for entry in data if "error" in entry} == {"non_finite_embedding"}
    assert all(entry["error"]["param"] == f"input[{entry['index']}]" for entry in data if "error" in entry)
    assert all(np.isfinite(from_half(entry["embedding"])).all() for entry in data if "error" not in entry)


@pytest.mark.slow
def test_bfloat16_and_normalized_float16_hold_everything(loud_server: LiveServer) -> None:
    for fields in ({"normalize": False, "embed_dtype": "bfloat16"}, {"embed_dtype": "float16"}):
        assert len(loud_server.ask(V1, {"input": WORDS} | fields).json()["data"]) == len(WORDS)
    raw = loud_server.vectors({"input": WORDS, "normalize": False})
    body = {"input": WORDS, "normalize": False, "embed_dtype": "float16", "dimensions": 64, "encoding_format": "base64"}
    short = [from_half(entry["embedding"]) for entry in loud_server.ask(V1, body).json()["data"]]
    np.testing.assert_array_equal(np.stack(short), raw[:, :64].astype(np.float16))
