"""Features as base64: text that is no file, files that libraries read, and mutated files."""

import base64
import io
from collections.abc import Callable

import numpy as np
import pytest
import torch
from safetensors.torch import load as load_safetensors

from service.media.features.npy_file import npy_head
from service.media.features.safetensors_file import write_safetensors
from service.media.features.tensor import Tensor
from service.media.item import ITEM_BYTES, TensorDtype
from tests.builders import npy_bytes
from tests.service.media.features.sent_features import PARAM, ROWS, WIDTH, numbers, opened, refusal

Mutation = Callable[[np.random.Generator, bytes], bytes]


def test_base64_in_lines_is_read() -> None:
    text = base64.encodebytes(npy_bytes(numbers())).decode()
    assert bytes(opened(text)[0].data) == numbers().tobytes()


def test_text_that_is_no_file_is_refused() -> None:
    good = base64.b64encode(npy_bytes(numbers())).decode()
    for text in (
        "",
        "AAAA",
        "not base64!",
        good[:-4] + " " + good[-4:],
        "data:x;base64," + good,
        good + "====",
        good + "=",
    ):
        assert refusal(text).param == f"{PARAM}.image_embeds"


def test_base64_in_any_spelling_is_the_same_features() -> None:
    text = base64.b64encode(npy_bytes(numbers())).decode()
    spellings = [text.rstrip("="), base64.urlsafe_b64encode(npy_bytes(numbers())).decode(), text + "\n"]
    assert [opened(one) for one in spellings] == [opened(text)] * 3


def test_a_file_far_too_large_for_its_grid_is_refused_before_it_is_decoded() -> None:
    message = refusal("!" * 200_000).message  # not base64 at all, and nobody looked
    assert "got 150000 bytes" in message
    assert str(ROWS * WIDTH * 8 + (1 << 16) + 8) in message


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_what_we_write_the_libraries_read(dtype: TensorDtype) -> None:
    want = torch.from_numpy(numbers()).to(getattr(torch, dtype))
    data = memoryview(want.view(torch.uint8).numpy().tobytes())
    assert len(data) == ROWS * WIDTH * ITEM_BYTES[dtype]
    tensor = Tensor(dtype, (ROWS, WIDTH), data)
    (got,) = load_safetensors(write_safetensors(tensor)).values()
    assert torch.equal(got, want)
    if dtype != "bfloat16":
        written = npy_head(tensor) + data
        np.testing.assert_array_equal(np.load(io.BytesIO(written), allow_pickle=False), want.numpy())
        assert bytes(opened(written)[0].data) == bytes(data)
    assert bytes(opened(write_safetensors(tensor))[0].data) == bytes(data)
